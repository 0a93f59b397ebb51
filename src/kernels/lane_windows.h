#pragma once
#include "kernels/interleave.h"
#include "kernels/pool_reductions.h"
#include "kernels/pooling.h"
#include "kernels/vectors.h"

/// Windows on many rows or planes at once, one row or plane per vector lane. Used by fast pooling
/// only.
namespace rondel::kernels::pooling {

/// Elements per lane that are interleaved between two checks of the stop flag. They fit into the L1
/// cache.
constexpr std::int64_t transposed_at_once = 256;

/// Interleaves the first n elements of all rows.
template <class Acc>
void interleave_all(StopCheck& stop, const Acc* const* rows, std::int64_t n, Acc* to) {
  for (std::int64_t i = 0; i < n; i += transposed_at_once) {
    with_vectors([&] { interleave(rows, i, std::min(i + transposed_at_once, n), n, to); });
    stop.add_work(transposed_at_once * 4);
  }
}
template <class Acc>
void deinterleave_all(StopCheck& stop, const Acc* from, std::int64_t n, Acc* const* rows) {
  for (std::int64_t i = 0; i < n; i += transposed_at_once) {
    with_vectors([&] { deinterleave(from, i, std::min(i + transposed_at_once, n), n, rows); });
    stop.add_work(transposed_at_once * 4);
  }
}

/// A row of windows: neighbours along the last axis. Each element of `x`, `found` and `where` is a
/// group of `lanes` values, one per lane.
template <class Acc> struct LaneRow {
  using Number = typename HalfPack<Acc>::Number;
  static constexpr std::int64_t lanes = Lanes<Acc>::count;

  const Acc* x;
  const std::int64_t* starts;  ///< the rows of x under the windows, by their first elements
  std::int64_t count;          ///< number of `starts`
  const Span* spans;           ///< the part of a row under the window, by position
  std::int64_t dilation;
  Acc* found;
  Number* where;

  /// Reduces windows [0, n).
  template <class Reduction> void pool_all(StopCheck& stop, std::int64_t n) const {
    std::int64_t largest = 0;
    for (std::int64_t position = 0; position < n; ++position)
      largest = std::max(largest, spans[position].count);
    const std::int64_t window = count * largest + 1;
    const std::int64_t at_once = StopCheck::interval / window + 1;
    for (std::int64_t position = 0; position < n; position += at_once) {
      const std::int64_t end = std::min(position + at_once, n);
      pool<Reduction>(position, end);
      stop.add_work((end - position) * window);
    }
  }

 private:
  /// Reduces windows [from, to). Several windows with equal spans are reduced at once, to hide the
  /// latency of each.
  template <class Reduction> void pool(std::int64_t from, std::int64_t to) const {
    with_vectors([&] {
      for (std::int64_t position = from; position < to;) {
        constexpr int several = Reduction::gives_index ? 2 : 4;
        if (count == 0 || spans[position].count == 0) write_nothing<Reduction>(position++);
        else if (position + several > to || !alike<several>(position))
          pool_windows<Reduction, 1>(position++);
        else {
          pool_windows<Reduction, several>(position);
          position += several;
        }
      }
    });
  }

  using Unaligned = typename HalfPack<Acc>::Unaligned;

  template <int several> [[gnu::always_inline]] bool alike(std::int64_t position) const {
    bool alike = true;
    for (int i = 1; i < several; ++i)
      alike = alike && spans[position + i].count == spans[position].count;
    return alike;
  }
  template <class Reduction, int several>
  [[gnu::always_inline]] void pool_windows(std::int64_t position) const {
    Reduction halves[several][2];
#pragma GCC unroll 4
    for (int i = 0; i < several; ++i)
      halves[i][0] = halves[i][1] = Reduction(starts[0] + spans[position + i].first);
    const auto add_all = [&](std::int64_t row, std::int64_t k) {
#pragma GCC unroll 4
      for (int i = 0; i < several; ++i)
        add(halves[i], starts[row] + spans[position + i].first + k * dilation);
    };
    if constexpr (Reduction::gives_index) {
      for (std::int64_t row = 0; row < count; ++row)
        for (std::int64_t k = 0; k < spans[position].count; ++k) add_all(row, k);
    } else {
      for (std::int64_t k = 0; k < spans[position].count; ++k) {
        for (std::int64_t row = 0; row < count; ++row) add_all(row, k);
#pragma GCC unroll 4
        for (int i = 0; i < several; ++i)
          for (Reduction& half : halves[i]) half.end_column();
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < several; ++i) write(halves[i], position + i);
  }
  template <class Reduction>
  [[gnu::always_inline]] void add(Reduction (&halves)[2], std::int64_t number) const {
    const auto* const from = reinterpret_cast<const Unaligned*>(x + number * lanes);
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) halves[h].add(from[h], number);
  }
  /// The result of a window that covers only padding: 0, with index -1.
  template <class Reduction>
  [[gnu::always_inline]] void write_nothing(std::int64_t position) const {
    for (std::int64_t l = position * lanes; l < (position + 1) * lanes; ++l) {
      found[l] = Acc{};
      if constexpr (Reduction::gives_index) where[l] = -1;
    }
  }
  template <class Reduction>
  [[gnu::always_inline]] void write(const Reduction (&halves)[2], std::int64_t position) const {
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      reinterpret_cast<Unaligned*>(found + position * lanes)[h] = halves[h].found;
      if constexpr (Reduction::gives_index)
        reinterpret_cast<typename HalfPack<Number>::Unaligned*>(
            where + position * lanes)[h] = halves[h].where;
    }
  }
};

}  // namespace rondel::kernels::pooling
