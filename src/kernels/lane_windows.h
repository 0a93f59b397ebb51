#pragma once
#include "kernels/interleave.h"
#include "kernels/pool_kinds.h"
#include "kernels/pooling.h"
#include "kernels/vectors.h"

/// Windows on elements of many rows or planes, one a lane. Not for others than fast pooling.
namespace rondel::kernels::pooling {

/// Elements that are turned between two looks at the stop flag, in all lanes; they fit into the
/// nearest cache.
constexpr std::int64_t turned_at_once = 256;

/// The first n elements of all rows.
template <class Acc>
void interleave_all(StopCheck& stop, const Acc* const* rows, std::int64_t n, Acc* to) {
  for (std::int64_t i = 0; i < n; i += turned_at_once) {
    with_vectors([&] { interleave(rows, i, std::min(i + turned_at_once, n), n, to); });
    stop.add_work(turned_at_once * 4);
  }
}
template <class Acc>
void deinterleave_all(StopCheck& stop, const Acc* from, std::int64_t n, Acc* const* rows) {
  for (std::int64_t i = 0; i < n; i += turned_at_once) {
    with_vectors([&] { deinterleave(from, i, std::min(i + turned_at_once, n), n, rows); });
    stop.add_work(turned_at_once * 4);
  }
}

/// A row of windows: neighbours along the last axis. An element of x is one of each lane.
template <class Acc> struct LaneRow {
  using Number = typename Half<Acc>::Number;
  static constexpr std::int64_t lanes = Lanes<Acc>::count;

  const Acc* x;
  const std::int64_t* starts;  ///< the rows of x under the windows: their first elements' numbers
  std::int64_t count;          ///< of starts
  const Span* spans;           ///< what of a row is under a window, by place
  std::int64_t dilation;
  Acc* found;
  Number* where;

  /// Windows [0, n).
  template <class Kind> void pool_all(StopCheck& stop, std::int64_t n) const {
    std::int64_t largest = 0;
    for (std::int64_t place = 0; place < n; ++place)
      largest = std::max(largest, spans[place].count);
    const std::int64_t window = count * largest + 1;
    const std::int64_t at_once = StopCheck::interval / window + 1;
    for (std::int64_t place = 0; place < n; place += at_once) {
      const std::int64_t end = std::min(place + at_once, n);
      pool<Kind>(place, end);
      stop.add_work((end - place) * window);
    }
  }

 private:
  /// Windows [from, to): several at once where they are alike, so that the
  /// latency of one hides behind the others.
  template <class Kind> void pool(std::int64_t from, std::int64_t to) const {
    with_vectors([&] {
      for (std::int64_t place = from; place < to;) {
        constexpr int several = Kind::says_where ? 2 : 4;
        if (count == 0 || spans[place].count == 0) write_nothing<Kind>(place++);
        else if (place + several > to || !alike<several>(place)) pool_windows<Kind, 1>(place++);
        else {
          pool_windows<Kind, several>(place);
          place += several;
        }
      }
    });
  }

  using Unaligned = typename Half<Acc>::Unaligned;

  template <int several> [[gnu::always_inline]] bool alike(std::int64_t place) const {
    bool alike = true;
    for (int i = 1; i < several; ++i) alike = alike && spans[place + i].count == spans[place].count;
    return alike;
  }
  template <class Kind, int several>
  [[gnu::always_inline]] void pool_windows(std::int64_t place) const {
    Kind halves[several][2];
#pragma GCC unroll 4
    for (int i = 0; i < several; ++i)
      halves[i][0] = halves[i][1] = Kind(starts[0] + spans[place + i].first);
    const auto add_all = [&](std::int64_t row, std::int64_t k) {
#pragma GCC unroll 4
      for (int i = 0; i < several; ++i)
        add(halves[i], starts[row] + spans[place + i].first + k * dilation);
    };
    if constexpr (Kind::says_where) {
      for (std::int64_t row = 0; row < count; ++row)
        for (std::int64_t k = 0; k < spans[place].count; ++k) add_all(row, k);
    } else {
      for (std::int64_t k = 0; k < spans[place].count; ++k) {
        for (std::int64_t row = 0; row < count; ++row) add_all(row, k);
#pragma GCC unroll 4
        for (int i = 0; i < several; ++i)
          for (Kind& half : halves[i]) half.end_column();
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < several; ++i) write(halves[i], place + i);
  }
  template <class Kind>
  [[gnu::always_inline]] void add(Kind (&halves)[2], std::int64_t number) const {
    const auto* const from = reinterpret_cast<const Unaligned*>(x + number * lanes);
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) halves[h].add(from[h], number);
  }
  /// What a window in padding alone gives: 0, at -1.
  template <class Kind> [[gnu::always_inline]] void write_nothing(std::int64_t place) const {
    for (std::int64_t l = place * lanes; l < (place + 1) * lanes; ++l) {
      found[l] = Acc{};
      if constexpr (Kind::says_where) where[l] = -1;
    }
  }
  template <class Kind>
  [[gnu::always_inline]] void write(const Kind (&halves)[2], std::int64_t place) const {
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      reinterpret_cast<Unaligned*>(found + place * lanes)[h] = halves[h].found;
      if constexpr (Kind::says_where)
        reinterpret_cast<typename Half<Number>::Unaligned*>(where +
                                                            place * lanes)[h] = halves[h].where;
    }
  }
};

}  // namespace rondel::kernels::pooling
