#pragma once
#include "kernels/lanes.h"
#include "kernels/quad.h"
#include "kernels/vectors.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/// How products are added to sums in vector registers: `add(sum, a, b)` is sum += a * b, where b is
/// a vector and a a vector or an element, or all three are elements. The product of two quads is
/// the dot product of a's i8 and b's u8.
namespace rondel::kernels {

template <class T, int size> struct RegisterSums {
  using Type = T;
  using Vector = typename Lanes<T, size>::Vector;
  static constexpr int bytes = size;
  static constexpr std::int64_t lanes = Lanes<T, size>::count;
  [[gnu::always_inline]] static void fill(Vector& v, T x) { v = x + Vector{}; }
};
template <class M> using Element = typename M::Type;

template <class T, int size> struct MultiplyAdd : RegisterSums<T, size> {
  template <class Sum, class A, class B>
  [[gnu::always_inline]] static void add(Sum& sum, const A& a, const B& b) {
    sum += a * b;
  }
};

template <int i, class Quads> [[gnu::always_inline]] inline Quads byte_of(const Quads& q) {
  return (q >> (8 * i)) & 255;
}
template <int i, class Quads> [[gnu::always_inline]] inline Quads signed_byte_of(const Quads& q) {
  return (byte_of<i>(q) ^ 128) - 128;
}

/// Products of quads on any processor.
template <int size> struct PlainQuads : RegisterSums<Quad, size> {
  template <class Sum, class A, class B>
  [[gnu::always_inline]] static void add(Sum& sum, const A& a, const B& b) {
    sum += signed_byte_of<0>(a) * byte_of<0>(b) + signed_byte_of<1>(a) * byte_of<1>(b) +
           signed_byte_of<2>(a) * byte_of<2>(b) + signed_byte_of<3>(a) * byte_of<3>(b);
  }
};

#if defined(__x86_64__)
template <int size> using QuadVector = typename Lanes<Quad, size>::Vector;
template <int size> using PairVector = typename Lanes<std::int16_t, size>::Vector;

// These functions are compiled for their instructions on their own: of other functions, the
// compiler takes vectors of integers apart before it knows for which processor they are inlined.

[[gnu::target("avx2")]] inline void fill_quads(QuadVector<32>& v, Quad x) {
  v = reinterpret_cast<QuadVector<32>>(_mm256_set1_epi32(x));
}
[[gnu::target("avx512f")]] inline void fill_quads(QuadVector<64>& v, Quad x) {
  v = reinterpret_cast<QuadVector<64>>(_mm512_set1_epi32(x));
}

/// y = the sums of two products each.
[[gnu::target("avx2")]] inline void multiply_pairs(QuadVector<32>& y, const PairVector<32>& a,
                                                   const PairVector<32>& b) {
  y = reinterpret_cast<QuadVector<32>>(
      _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}
[[gnu::target("avx512f,avx512bw")]] inline void multiply_pairs(QuadVector<64>& y,
                                                               const PairVector<64>& a,
                                                               const PairVector<64>& b) {
  y = reinterpret_cast<QuadVector<64>>(
      _mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}

[[gnu::target("avx512f,avx512vnni")]] inline void add_byte_products(QuadVector<64>& sum,
                                                                    const QuadVector<64>& a,
                                                                    const QuadVector<64>& b) {
  sum = reinterpret_cast<QuadVector<64>>(_mm512_dpbusd_epi32(
      reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(b), reinterpret_cast<__m512i>(a)));
}

/// With products of pairs: of the bytes 0 and 2, and of the bytes 1 and 3.
template <int size> struct QuadsByPairs : PlainQuads<size> {
  using PlainQuads<size>::add;
  using Vector = QuadVector<size>;

  [[gnu::always_inline]] static void fill(Vector& v, Quad x) { fill_quads(v, x); }
  [[gnu::always_inline]] static void add(Vector& sum, const Vector& a, const Vector& b) {
    using Signed = PairVector<size>;
    using Unsigned = typename Lanes<std::uint16_t, size>::Vector;
    const Signed of_a = reinterpret_cast<Signed>(a);
    const Unsigned of_b = reinterpret_cast<Unsigned>(b), low = of_b & 255, high = of_b >> 8;
    Vector even, odd;
    multiply_pairs(even, (of_a << 8) >> 8, reinterpret_cast<Signed>(low));
    multiply_pairs(odd, of_a >> 8, reinterpret_cast<Signed>(high));
    sum += even + odd;
  }
  [[gnu::always_inline]] static void add(Vector& sum, Quad a, const Vector& b) {
    Vector all;
    fill(all, a);
    add(sum, all, b);
  }
};

/// With one instruction.
struct QuadsByBytes : PlainQuads<64> {
  using PlainQuads<64>::add;

  [[gnu::always_inline]] static void fill(Vector& v, Quad x) { fill_quads(v, x); }
  [[gnu::always_inline]] static void add(Vector& sum, const Vector& a, const Vector& b) {
    add_byte_products(sum, a, b);
  }
  [[gnu::always_inline]] static void add(Vector& sum, Quad a, const Vector& b) {
    Vector all;
    fill(all, a);
    add(sum, all, b);
  }
};
#endif

template <class F> void with_quad_products(F f) {
#if defined(__x86_64__)
  if (has_byte_products()) return detail::run_byte_products([=] { f(QuadsByBytes()); });
  switch (vectors()) {
    case Vectors::avx512: return detail::run_avx512([=] { f(QuadsByPairs<64>()); });
    case Vectors::avx2: return detail::run_avx2([=] { f(QuadsByPairs<32>()); });
    case Vectors::plain: break;
  }
#endif
  f(PlainQuads<16>());
}

/// Calls f(m) like `with_registers`; the type of m tells how products of T are added.
template <class T, class F> void with_multiply_add(F f) {
  if constexpr (std::is_same_v<T, Quad>) with_quad_products(f);
  else with_registers([=](auto bytes) { f(MultiplyAdd<T, bytes()>()); });
}

}  // namespace rondel::kernels
