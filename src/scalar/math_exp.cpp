#include "scalar/math.h"
#include "scalar/math_coefficients.h"
#include "scalar/math_parts.h"

/// exp, expm1 and sigmoid: x = n ln2 + r, a polynomial in r, and the exponent added at the end by
/// `scale`, so that subnormal results are rounded once.
namespace rondel::scalar {
namespace parts {
namespace {
// ln(2) in two parts for each type. n times the first is subtracted from x by one fma, exactly:
// the difference is small and a multiple of an ulp of ln(2).
constexpr double log2_e = 0x1.71547652b82fep+0;
constexpr double reduction_ln2_f32[] = {0x1.62e43p-1, -0x1.05c61p-29};
constexpr double reduction_ln2_f64[] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
}  // namespace

// times x = n ln2 + times r
ReducedArgument reduce(Ex x, double times) {
  const double* ln2 = is_f32(x) ? reduction_ln2_f32 : reduction_ln2_f64;
  const Ex shifted = fma(x, literal(x, times * log2_e), literal(x, format(x).rounder));
  const Ex n = shifted - format(x).rounder, rest = n * (-ln2[1] / times);
  const Ex hi = fma(n, literal(x, -ln2[0] / times), x);
  return {hi + rest, hi, rest, n, shifted};
}

std::span<const double> exp_polynomial(Ex x) {
  if (is_f32(x)) return coefficients::exp_f32;
  return coefficients::exp_f64;
}

ReducedArgument reduce_by_ln2(Ex x) { return reduce(x, 1); }

// The other bits of `shifted` are shifted out.
Ex power_of_two_in(Ex shifted, int more) {
  const Format& f = format(shifted);
  return from_bits((bits_of(shifted) << f.mantissa) + ((f.bias + more) << f.mantissa),
                   shifted.type());
}

ExponentialSum exponential_sum(Ex x, double times) {
  const ReducedArgument reduced = reduce(x, times);
  const Ex r = reduced.r;
  std::vector<double> polynomial;
  for (double power = times * times; const double c : exp_polynomial(x)) {
    polynomial.push_back(c * power);
    power *= times;
  }
  return {fma(r * r, estrin(r, polynomial), times * r), reduced.shifted};
}

Exponential exponential(Ex x) {
  const ReducedArgument reduced = reduce_by_ln2(x);
  const Ex r = reduced.r;
  const Pair head = fast_sum(literal(r, 1.0), r);
  const Pair sum = fast_sum(head.hi, fma(r * r, horner(r, exp_polynomial(x)), head.lo));
  return {sum.hi, sum.lo, reduced.n, reduced.shifted};
}

Ex exp_for_f32(Ex x) {
  const ReducedArgument reduced = reduce_by_ln2(x);
  const Ex r = reduced.r;
  return (1 + fma(r * r, horner(r, coefficients::exp_f64_for_f32), r)) *
         power_of_two_in(reduced.shifted);
}

namespace {

// Beyond these exp rounds to 0, or overflows.
double lowest(Ex x) { return is_f32(x) ? -104 : -746; }
double highest(Ex x) { return is_f32(x) ? 89 : 710; }

// `scale`, of 0 where exp(x) rounds to 0: processors take a hundred cycles to round a number to 0,
// and masks of attention are made of such numbers.
Ex scale_or_zero(Ex m, Ex n, Ex x) { return scale(select(x < lowest(x), literal(m, 0.0), m), n); }

Ex exp_any(Ex x) {
  const Exponential e = exponential(clamp(x, lowest(x), highest(x)));
  return scale_or_zero(e.hi, e.n, x);
}

// 2^n (expm1(r) + 1) - 1, with half of 2^n so that n = 128 or 1024 does not overflow early.
Ex expm1_any(Ex x) {
  const Ex bounded = is_f32(x) ? clamp(x, -18, 89) : clamp(x, -38, 710);
  const ReducedArgument reduced = reduce_by_ln2(bounded);
  const Ex r = reduced.r;
  const Ex p = is_f32(x) ? horner(r, coefficients::expm1_f32) : horner(r, coefficients::exp_f64);
  const Ex rest = fma(r * r, p, r);
  const Ex half = power_of_two_in(reduced.shifted, -1);
  const Ex y = 2 * fma(rest, half, half - 0.5);
  return select(abs(x) < format(x).min_normal, x, y);
}

// From e = exp(-x) = m 2^n, 1 / (1 + e), or for x below -0.5 from e = exp(x), m / (1 + e) times
// 2^n. `q` is close to it, and a whole number of ulps of 1: so what is left of the numerator,
// `rest`, is computed with few roundings.
Ex sigmoid_any(Ex x) {
  constexpr double negligible = -60;  // 1 + 2^negligible is 1
  const Format& f = format(x);
  const Ex low = x < -0.5, one = literal(x, 1.0);
  const ReducedArgument reduced = reduce_by_ln2(raise(select(low, x, -x), lowest(x)));
  const Ex r = reduced.r;
  const Ex w = fma(r * r, estrin(r, exp_polynomial(x)), reduced.lo),
           t = reduced.hi + w;  // m = 1 + hi + w = 1 + t
  const Ex power = power_of_two_in(raise(reduced.shifted, f.rounder + negligible));
  const Ex inverse = 1 / fma(power, t, 1 + power);
  const Ex difference = one - select(low, fma(t, inverse, inverse), inverse);
  const Ex q = one - difference;
  const Ex first = select(low, difference + reduced.hi, difference);
  const Ex second = fma(-q, power * t, fma(-q, power, first));
  const Ex rest = select(low, second + w, second);
  return scale_or_zero(fma(rest, inverse, q), select(low, reduced.n, literal(x, 0.0)), x);
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
