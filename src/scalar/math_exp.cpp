#include "scalar/math.h"
#include "scalar/math_coefficients.h"
#include "scalar/math_parts.h"

/// exp, expm1 and sigmoid: x = n ln2 + r, and a polynomial in r. exp gets its exponent at the end,
/// by `scale`, so that subnormal results are rounded once.
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
  const Ex n = shifted - format(x).rounder;
  const Ex hi = fma(n, literal(x, -ln2[0] / times), x);
  return {fma(n, literal(x, -ln2[1] / times), hi), n, shifted};
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

namespace {
// 1 + t as a polynomial of times r: t = times r + (times r)^2 p(times r).
ExponentialSum exponential_sum_by(Ex x, double times, std::span<const double> p) {
  const ReducedArgument reduced = reduce(x, times);
  const Ex r = reduced.r;
  std::vector<double> polynomial;
  for (double power = times * times; const double c : p) {
    polynomial.push_back(c * power);
    power *= times;
  }
  return {fma(r * r, estrin(r, polynomial), times * r), reduced.shifted};
}

std::span<const double> expm1_polynomial(Ex x) {
  if (is_f32(x)) return coefficients::expm1_f32;
  return coefficients::exp_f64;
}
}  // namespace

ExponentialSum exponential_sum(Ex x, double times) {
  return exponential_sum_by(x, times, exp_polynomial(x));
}

ExponentialSum expm1_sum(Ex x, double times) {
  return exponential_sum_by(x, times, expm1_polynomial(x));
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
  const ReducedArgument reduced = reduce_by_ln2(clamp(x, lowest(x), highest(x)));
  const Ex r = reduced.r;
  return scale_or_zero(1 + fma(r * r, horner(r, exp_polynomial(x)), r), reduced.n, x);
}

// 2^n t + 2^n - 1, with half of 2^n so that n = 128 or 1024 does not overflow early.
Ex expm1_any(Ex x) {
  const ExponentialSum e = expm1_sum(is_f32(x) ? clamp(x, -18, 89) : clamp(x, -38, 710));
  const Ex half = power_of_two_in(e.shifted, -1);
  return select(abs(x) < format(x).min_normal, x, 2 * fma(e.t, half, half - 0.5));
}

// 1 / (1 + exp(-x)). For low x, where exp(-x) overflows, times `part`, a power of two.
Ex sigmoid_any(Ex x) {
  const Format& f = format(x);
  const Ex part = is_f32(x) ? select(x < -80, literal(x, 0x1p-32), literal(x, 1.0))
                            : select(x < -700, literal(x, 0x1p-64), literal(x, 1.0));
  const ExponentialSum e = exponential_sum(clamp(x, lowest(x), is_f32(x) ? 87 : 708), -1);
  const Ex power = from_bits((bits_of(e.shifted) << f.mantissa) + bits_of(part), x.type());
  return part * (1 / fma(power, e.t, part + power));
}

}  // namespace
}  // namespace parts

// Largest error: f32 1.1 ulp, f64 1.1.
Ex exp(Ex x) { return parts::by_type(x, parts::exp_any, parts::exp_any); }
// Largest error: f32 1.5 ulp, f64 1.9.
Ex expm1(Ex x) { return parts::by_type(x, parts::expm1_any, parts::expm1_any); }
// Largest error: f32 2.5 ulp, f64 2.5.
Ex sigmoid(Ex x) { return parts::by_type(x, parts::sigmoid_any, parts::sigmoid_any); }

}  // namespace rondel::scalar
