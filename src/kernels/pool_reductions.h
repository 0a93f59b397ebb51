#pragma once
#include "kernels/lanes.h"

#include <limits>
#include <utility>

/// Reductions of the elements of a window to one element, in vectors. Used by fast pooling only.
namespace rondel::kernels::pooling {

/// A vector of `bytes` bytes.
template <class T, int bytes> struct Pack {
  static constexpr int count = bytes / sizeof(T);
  typedef T Vector __attribute__((vector_size(bytes)));
  typedef T Unaligned __attribute__((vector_size(bytes), aligned(alignof(T)), may_alias));
  typedef typename Lanes<T>::Integer Number;
  typedef Number Numbers __attribute__((vector_size(bytes)));

  [[gnu::always_inline]] static Vector load(const T* x) {
    return *reinterpret_cast<const Unaligned*>(x);
  }
  [[gnu::always_inline]] static void store(const Vector& v, T* to) {
    *reinterpret_cast<Unaligned*>(to) = v;
  }
  /// Elements first, first + 2, ... of the concatenation of two vectors; `first` is 0 or 1.
  template <int first>
  [[gnu::always_inline]] static Vector every_second(const Vector& low, const Vector& high) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
      return __builtin_shufflevector(low, high, (2 * i + first)...);
    }
    (std::make_index_sequence<count>());
  }
};
/// Vectors of 32 bytes, half the lanes of `Lanes<T>`: every processor with AVX2 has registers for
/// them.
template <class T> using HalfPack = Pack<T, 32>;

/// A mask of the lanes in which v replaces the greatest element so far. NaN is greater than all
/// numbers; of several NaNs, the first one stays.
template <class P>
[[gnu::always_inline]] inline typename P::Numbers wins(const typename P::Vector& v,
                                                       const typename P::Vector& best) {
  typename P::Numbers wins{};
  for (int l = 0; l < P::count; ++l) wins[l] = !(v[l] <= best[l]) & (best[l] == best[l]) ? -1 : 0;
  return wins;
}
/// a in the lanes of a mask, b in the others.
template <class Mask, class Vector>
[[gnu::always_inline]] inline Vector select(const Mask& mask, const Vector& a, const Vector& b) {
  return reinterpret_cast<Vector>((reinterpret_cast<Mask>(a) & mask) |
                                  (reinterpret_cast<Mask>(b) & ~mask));
}

// The reductions, in vectors of `bytes` bytes, computed with type `Acc`. A window may be reduced in
// two levels: first each column, then the columns. Lanes are compared in a scalar loop, because the
// compiler vectorises this loop, but splits comparisons of whole vectors.

/// The greatest element. `nans`: whether there may be NaN, which is then the greatest.
template <class A, int bytes = 32, bool nans = false> struct Max {
  using Acc = A;
  using Pack = pooling::Pack<Acc, bytes>;
  using Vector = typename Pack::Vector;
  using WithNans = Max<Acc, bytes, !std::is_integral_v<Acc>>;
  static constexpr bool is_mean = false, gives_index = false;
  static constexpr bool checks_for_nans = !nans && !std::is_integral_v<Acc>;

  explicit Max(std::int64_t = 0) {}
  /// The value for padding: the neutral element of the reduction.
  static constexpr Acc padding() {
    using Limits = std::numeric_limits<Acc>;
    return Limits::has_infinity ? static_cast<Acc>(-Limits::infinity()) : Limits::lowest();
  }
  [[gnu::always_inline]] void add(Vector v, std::int64_t) {
    if constexpr (nans) {
      found = select(wins<Pack>(v, found), v, found);
    } else {
      Vector best = found;
      for (int l = 0; l < Pack::count; ++l) best[l] = v[l] > best[l] ? v[l] : best[l];
      found = best;
    }
  }
  [[gnu::always_inline]] void end_column() {}
  [[gnu::always_inline]] void add_column(Vector v) { add(v, 0); }
  Vector found = Vector{} + padding();
};

/// The greatest element and its number; of equal elements, the first.
template <class A> struct ArgMax {
  using Acc = A;
  using Vector = typename HalfPack<Acc>::Vector;
  using Number = typename HalfPack<Acc>::Number;
  using Numbers = typename HalfPack<Acc>::Numbers;
  using WithNans = ArgMax;
  static constexpr bool is_mean = false, gives_index = true;
  static constexpr bool checks_for_nans = false;

  explicit ArgMax(std::int64_t first = 0) : where(Numbers{} + static_cast<Number>(first)) {}
  static constexpr Acc padding() { return Max<Acc>::padding(); }
  [[gnu::always_inline]] void add(Vector v, std::int64_t number) {
    const Numbers mask = wins<HalfPack<Acc>>(v, found);
    found = select(mask, v, found);
    where = select(mask, Numbers{} + static_cast<Number>(number), where);
  }
  [[gnu::always_inline]] void end_column() {}
  Vector found = Vector{} + padding();
  Numbers where;
};

/// The sum for a mean: first over each column, then over the columns. Both sums begin with 0, so
/// that a padding of zeros changes no bits.
template <class A, int bytes = 32> struct Sum {
  using Acc = A;
  using Pack = pooling::Pack<Acc, bytes>;
  using Vector = typename Pack::Vector;
  using WithNans = Sum;
  static constexpr bool is_mean = true, gives_index = false;
  static constexpr bool checks_for_nans = false;

  explicit Sum(std::int64_t = 0) {}
  static constexpr Acc padding() { return {}; }
  [[gnu::always_inline]] void add(Vector v, std::int64_t) { of_column += v; }
  [[gnu::always_inline]] void end_column() {
    found += of_column;
    of_column = Vector{};
  }
  [[gnu::always_inline]] void add_column(Vector v) { found += v; }
  Vector found{}, of_column{};
};

/// Several independent reductions, updated in turn to hide the latency of each.
template <class R, int several> struct VectorGroup {
  /// load(i): the vector to add to reduction i.
  template <class F> [[gnu::always_inline]] void add(const F& load) {
#pragma GCC unroll 5
    for (int i = 0; i < several; ++i) reductions[i].add(load(i), 0);
  }
  template <class F> [[gnu::always_inline]] void add_columns(const F& load) {
#pragma GCC unroll 5
    for (int i = 0; i < several; ++i) reductions[i].add_column(load(i));
  }
  [[gnu::always_inline]] void end_column() {
#pragma GCC unroll 5
    for (int i = 0; i < several; ++i) reductions[i].end_column();
  }
  R reductions[several];
};

}  // namespace rondel::kernels::pooling
