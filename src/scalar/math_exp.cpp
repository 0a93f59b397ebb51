#include "scalar/math.h"
#include "scalar/math_coefficients.h"
#include "scalar/math_parts.h"

/// exp, expm1 and sigmoid: x = n ln2 + r, a polynomial in r, and the exponent added at the end in
/// two halves, so that subnormal results are rounded once.
namespace rondel::scalar {
namespace parts {
namespace {
// ln(2) in two parts for each type. n times the first is subtracted from x by one fma, exactly:
// the difference is small and a multiple of an ulp of ln(2).
constexpr double log2_e = 0x1.71547652b82fep+0;
constexpr double reduction_ln2_f32[] = {0x1.62e43p-1, -0x1.05c61p-29};
constexpr double reduction_ln2_f64[] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
}  // namespace

ReducedArgument reduce_by_ln2(Ex x) {
  const double* ln2 = is_f32(x) ? reduction_ln2_f32 : reduction_ln2_f64;
  const Ex shifted = fma(x, literal(x, log2_e), literal(x, format(x).rounder));
  const Ex n = shifted - format(x).rounder;
  const Ex r = fma(n, literal(x, -ln2[1]), fma(n, literal(x, -ln2[0]), x));
  return {r, bits_of(shifted) - format(x).rounder_bits, n};
}

Exponential exponential(Ex x) {
  const ReducedArgument reduced = reduce_by_ln2(x);
  const Ex r = reduced.r;
  const Ex p = is_f32(x) ? horner(r, coefficients::exp_f32) : horner(r, coefficients::exp_f64);
  const Pair head = fast_sum(literal(r, 1.0), r);
  const Pair sum = fast_sum(head.hi, fma(r * r, p, head.lo));
  return {sum.hi, sum.lo, reduced.n};
}

Ex exp_for_f32(Ex x) {
  const ReducedArgument reduced = reduce_by_ln2(x);
  const Ex r = reduced.r;
  return (1 + fma(r * r, horner(r, coefficients::exp_f64_for_f32), r)) *
         power_of_two(reduced.n, DType::f64);
}

namespace {

// Beyond these exp overflows, or rounds to 0.
Ex exp_range(Ex x) { return is_f32(x) ? clamp(x, -104, 89) : clamp(x, -746, 710); }

Ex exp_any(Ex x) {
  const Exponential e = exponential(exp_range(x));
  return scale(e.hi, e.n);
}

// 2^n (expm1(r) + 1) - 1, with half of 2^n so that n = 128 or 1024 does not overflow early.
Ex expm1_any(Ex x) {
  const Ex bounded = is_f32(x) ? clamp(x, -18, 89) : clamp(x, -38, 710);
  const ReducedArgument reduced = reduce_by_ln2(bounded);
  const Ex r = reduced.r;
  const Ex p = is_f32(x) ? horner(r, coefficients::expm1_f32) : horner(r, coefficients::exp_f64);
  const Ex rest = fma(r * r, p, r);
  const Ex half = power_of_two(reduced.n - 1, x.type());
  const Ex y = 2 * fma(rest, half, half - 0.5);
  return select(abs(x) < format(x).min_normal, x, y);
}

// e / (1 + e) or 1 / (1 + e) for e = exp(-|x|), with 1 + e kept as a pair. The power of two of the
// numerator is applied last: it may make the result subnormal.
Ex sigmoid_any(Ex x) {
  const Exponential e = exponential(exp_range(-abs(x)));
  const Ex e_scaled = scale(e.hi, e.n);
  const Pair sum = fast_sum(literal(x, 1.0), e_scaled);
  const Ex denominator_rest = sum.lo + scale(e.lo, e.n);
  const Ex negative = x < 0;
  const Pair numerator{select(negative, e.hi, 1.0), select(negative, e.lo, 0.0)};
  const Ex quotient = divide(numerator, {sum.hi, denominator_rest});
  return scale(quotient, select(negative, e.n, literal(e.n, 0)));
}

}  // namespace
}  // namespace parts

// Largest error: f32 0.8 ulp, f64 0.9.
Ex exp(Ex x) { return parts::by_type(x, parts::exp_any, parts::exp_any); }
// Largest error: f32 1.5 ulp, f64 1.9.
Ex expm1(Ex x) { return parts::by_type(x, parts::expm1_any, parts::expm1_any); }
// Largest error: f32 0.8 ulp, f64 0.9.
Ex sigmoid(Ex x) { return parts::by_type(x, parts::sigmoid_any, parts::sigmoid_any); }

}  // namespace rondel::scalar
