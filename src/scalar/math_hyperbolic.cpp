#include "scalar/math.h"
#include "scalar/math_coefficients.h"
#include "scalar/math_parts.h"

/// tanh from expm1; sinh and cosh from exp, with a polynomial near 0.
/// The inverses are logarithms whose argument is kept as a pair. Except for tanh, the f32 functions
/// compute in f64, where plain formulas are exact enough.
namespace rondel::scalar {
namespace parts {
namespace {

constexpr double ln2 = 0x1.62e42fefa39efp-1;

// x + x^3 p(x^2)
Ex odd(Ex x, std::span<const double> polynomial) {
  const Ex square = x * x;
  return fma(square * x, horner(square, polynomial), x);
}

// u / (u + 2) with u = exp(2 |x|) - 1. tanh rounds to 1 from 9.02 (f32) and 19.07 (f64) on.
Ex tanh_any(Ex x) {
  const Ex a = lower(abs(x), is_f32(x) ? 10 : 20);
  const ExponentialSum e = expm1_sum(a, 2);
  const Ex power = power_of_two_in(e.shifted);
  const Ex u = fma(power, e.t, power - 1);
  return flip_sign(u / (u + 2), x);
}

// exp(a) / 2 and exp(-a) / 2 for a >= 0. The first overflows only where sinh and cosh do.
Pair half_exponentials(Ex a) {
  const Exponential e = exponential(clamp(a, 0, 711));
  return {scale(e.hi, e.n - 1), scale(0.25 / e.hi, 1 - e.n)};
}

// The rounding error of exp(a) / 2 as half_exponentials(a) computes it, to be added to it.
Ex half_exponential_error(Ex a) {
  const Exponential e = exponential(clamp(a, 0, 711));
  return scale(e.lo, e.n - 1);
}

Ex sinh_f64(Ex x) {
  const Ex a = abs(x);
  const Pair half = half_exponentials(a);
  const Ex far = half.hi + (half_exponential_error(a) - half.lo);
  return flip_sign(select(a < 1, odd(a, coefficients::sinh_f64), far), x);
}

Ex cosh_f64(Ex x) {
  const Ex a = abs(x);
  const Pair half = half_exponentials(a);
  return half.hi + (half_exponential_error(a) + half.lo);
}

Ex sinh_f32(Ex x) {
  const Ex a = abs(cast(DType::f64, x));
  const Ex e = exp_for_f32(clamp(a, 0, 100));
  const Ex y = select(a < 1, odd(a, coefficients::sinh_f64_for_f32), 0.5 * (e - 1 / e));
  return flip_sign(cast(DType::f32, y), x);
}

Ex cosh_f32(Ex x) {
  const Ex e = exp_for_f32(clamp(abs(cast(DType::f64, x)), 0, 100));
  return cast(DType::f32, 0.5 * (e + 1 / e));
}

// The square root of a pair, as a pair.
Pair sqrt_pair(Pair a) {
  const Ex root = sqrt(a.hi);
  const Ex rest = fma(-root, root, a.hi) + a.lo;
  return {root, select(a.hi == 0, literal(root, 0.0), 0.5 * rest / root)};
}

Pair add(Pair a, Pair b) {
  const Pair sum = two_sum(a.hi, b.hi);
  return fast_sum(sum.hi, sum.lo + (a.lo + b.lo));
}

// log(2 a) for a from 2^28 on, as log(a) + ln2, because 2 a may overflow; `near` below 2^28.
Ex log_of_large(Ex a, Ex near) { return select(a < 0x1p28, near, log(a) + ln2); }

// log1p(a + a^2 / (1 + sqrt(1 + a^2)))
Ex asinh_f64(Ex x) {
  const Ex a = abs(x), bounded = clamp(a, 0, 0x1p28), one = literal(x, 1.0), zero = literal(x, 0.0);
  const Pair square = two_product(bounded, bounded);
  const Pair root = sqrt_pair(add({one, zero}, square));
  const Pair denominator = add({one, zero}, root);
  const Ex q = square.hi / denominator.hi;
  const Ex q_rest = (fma(-q, denominator.hi, square.hi) + (square.lo - q * denominator.lo)) /
                    denominator.hi;
  const Pair sum = log1p_extended(add({bounded, zero}, {q, q_rest}));
  const Ex y = log_of_large(a, sum.hi + sum.lo);
  return select(a < 0x1p-28, x, flip_sign(y, x));
}

// log1p(t + sqrt(2 t + t^2)), t = x - 1
Ex acosh_f64(Ex x) {
  const Ex bounded = clamp(x, 1, 0x1p28), zero = literal(x, 0.0);
  const Ex t = bounded - 1;
  const Pair root = sqrt_pair(add({2 * t, zero}, two_product(t, t)));
  const Pair sum = log1p_extended(add({t, zero}, root));
  return select(x < 1, nan(x), log_of_large(x, sum.hi + sum.lo));
}

// log1p(2 a / (1 - a)) / 2
Ex atanh_f64(Ex x) {
  const Ex a = abs(x), bounded = clamp(a, 0, 1 - 0x1p-53);
  const Pair denominator = fast_sum(literal(x, 1.0), -bounded);
  const Ex q = 2 * bounded / denominator.hi;
  const Ex q_rest = (fma(-q, denominator.hi, 2 * bounded) - q * denominator.lo) / denominator.hi;
  const Pair sum = log1p_extended({q, q_rest});
  const Ex y = 0.5 * sum.hi + 0.5 * sum.lo;
  const Ex edge = select(a == 1, infinity(x), select(a > 1, nan(x), y));
  return select(a < 0x1p-28, x, flip_sign(edge, x));
}

Ex asinh_f32(Ex x) {
  const Ex a = abs(cast(DType::f64, x)), square = a * a;
  const Ex y = log1p_for_f32(a + square / (1 + sqrt(1 + square)));
  return flip_sign(cast(DType::f32, select(a < infinity(a), y, a)), x);
}

Ex acosh_f32(Ex x) {
  const Ex t = cast(DType::f64, x) - 1;
  const Ex y = log1p_for_f32(t + sqrt(t * (t + 2)));
  return cast(DType::f32, select(t < 0, nan(t), y));
}

Ex atanh_f32(Ex x) {
  const Ex a = abs(cast(DType::f64, x));
  const Ex y = 0.5 * log1p_for_f32(2 * a / (1 - a));
  return flip_sign(cast(DType::f32, select(a > 1, nan(a), y)), x);
}

}  // namespace
}  // namespace parts

// Largest error: f32 2.5 ulp, f64 2.5.
Ex tanh(Ex x) { return parts::by_type(x, parts::tanh_any, parts::tanh_any); }
// Largest error: f32 0.51 ulp, f64 1.1.
Ex sinh(Ex x) { return parts::by_type(x, parts::sinh_f32, parts::sinh_f64); }
// Largest error: f32 0.51 ulp, f64 1.1.
Ex cosh(Ex x) { return parts::by_type(x, parts::cosh_f32, parts::cosh_f64); }
// Largest error: f32 0.51 ulp, f64 1.
Ex asinh(Ex x) { return parts::by_type(x, parts::asinh_f32, parts::asinh_f64); }
// Largest error: f32 0.51 ulp, f64 1.
Ex acosh(Ex x) { return parts::by_type(x, parts::acosh_f32, parts::acosh_f64); }
// Largest error: f32 0.51 ulp, f64 0.51.
Ex atanh(Ex x) { return parts::by_type(x, parts::atanh_f32, parts::atanh_f64); }

}  // namespace rondel::scalar
