#pragma once
#include "kernels/lanes.h"
#include "kernels/pooling.h"
#include "kernels/vectors.h"

#include <limits>

/// Windows on elements of many planes, one a lane. Not for others than fast pooling.
namespace rondel::kernels::pooling {

/// Half the lanes: what every processor with vectors has registers for.
template <class T> struct Half {
  static constexpr int count = 32 / sizeof(T);
  typedef T Vector __attribute__((vector_size(32)));
  typedef T Unaligned __attribute__((vector_size(32), aligned(alignof(T)), may_alias));
  typedef typename Lanes<T>::Integer Number;
  typedef Number Numbers __attribute__((vector_size(32)));
};

/// Where v is the new greatest: NaN wins, the first of them.
template <class T>
[[gnu::always_inline]] inline typename Half<T>::Numbers wins(const typename Half<T>::Vector& v,
                                                             const typename Half<T>::Vector& best) {
  typename Half<T>::Numbers wins{};
  for (int l = 0; l < Half<T>::count; ++l)
    wins[l] = !(v[l] <= best[l]) & (best[l] == best[l]) ? -1 : 0;
  return wins;
}
/// a in the lanes of a mask, b in the others.
template <class Mask, class Vector>
[[gnu::always_inline]] inline Vector select(const Mask& mask, const Vector& a, const Vector& b) {
  return reinterpret_cast<Vector>((reinterpret_cast<Mask>(a) & mask) |
                                  (reinterpret_cast<Mask>(b) & ~mask));
}

// What a window gathers, in half the lanes. `Acc` is what it computes with. Lanes are compared one
// by one: the compiler makes vectors of that, but takes apart vectors that are compared.

/// The greatest element. NaN, which wins, is asked for only where there is some.
template <class A, bool nans = false> struct Greatest {
  using Acc = A;
  using Vector = typename Half<Acc>::Vector;
  using WithNans = Greatest<Acc, !std::is_integral_v<Acc>>;
  static constexpr bool is_mean = false, says_where = false;
  static constexpr bool asks_for_nans = !nans && !std::is_integral_v<Acc>;

  explicit Greatest(std::int64_t = 0) {}
  /// What wins over nothing.
  static constexpr Acc padding() {
    using Limits = std::numeric_limits<Acc>;
    return Limits::has_infinity ? static_cast<Acc>(-Limits::infinity()) : Limits::lowest();
  }
  [[gnu::always_inline]] void add(const Vector& v, std::int64_t) {
    if constexpr (nans) {
      found = select(wins<Acc>(v, found), v, found);
    } else {
      Vector best = found;
      for (int l = 0; l < Half<Acc>::count; ++l) best[l] = v[l] > best[l] ? v[l] : best[l];
      found = best;
    }
  }
  Vector found = Vector{} + padding();
};

/// The greatest element, and its number: the first of equals.
template <class A> struct First {
  using Acc = A;
  using Vector = typename Half<Acc>::Vector;
  using Number = typename Half<Acc>::Number;
  using Numbers = typename Half<Acc>::Numbers;
  using WithNans = First;
  static constexpr bool is_mean = false, says_where = true, asks_for_nans = false;

  explicit First(std::int64_t first = 0) : where(Numbers{} + static_cast<Number>(first)) {}
  static constexpr Acc padding() { return Greatest<Acc>::padding(); }
  [[gnu::always_inline]] void add(const Vector& v, std::int64_t number) {
    const Numbers mask = wins<Acc>(v, found);
    found = select(mask, v, found);
    where = select(mask, Numbers{} + static_cast<Number>(number), where);
  }
  Vector found = Vector{} + padding();
  Numbers where;
};

/// The sum, of which a mean is made. It begins with 0, so that padding changes nothing.
template <class A> struct Sum {
  using Acc = A;
  using Vector = typename Half<Acc>::Vector;
  using WithNans = Sum;
  static constexpr bool is_mean = true, says_where = false, asks_for_nans = false;

  explicit Sum(std::int64_t = 0) {}
  static constexpr Acc padding() { return {}; }
  [[gnu::always_inline]] void add(const Vector& v, std::int64_t) { found += v; }
  Vector found{};
};

/// A row of windows: neighbours along the last axis. An element of x is one of each lane.
template <class Acc> struct Row {
  using Number = typename Half<Acc>::Number;
  static constexpr std::int64_t lanes = Lanes<Acc>::count;

  const Acc* x;
  const std::int64_t* starts;  ///< the rows of x under the windows: their first elements' numbers
  std::int64_t count;          ///< of starts
  const Span* spans;           ///< what of a row is under a window, by place
  std::int64_t dilation;
  Acc* found;
  Number* where;

  /// Windows [from, to): several at once where they are alike, so that none waits for itself.
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

 private:
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
    for (std::int64_t row = 0; row < count; ++row)
      for (std::int64_t k = 0; k < spans[place].count; ++k)
#pragma GCC unroll 4
        for (int i = 0; i < several; ++i)
          add(halves[i], starts[row] + spans[place + i].first + k * dilation);
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
