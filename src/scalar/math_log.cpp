#include "scalar/math.h"
#include "scalar/math_coefficients.h"
#include "scalar/math_parts.h"

/// log and log1p: x = m 2^k with m about 1, a polynomial in m - 1 (f32) or a series in
/// s = (m - 1) / (m + 1) (f64), and k ln2 added in two parts.
namespace rondel::scalar {
namespace parts {
namespace {

// The first parts are short, so that k times them is exact.
constexpr double result_ln2_f32[] = {0x1.62e4p-1, 0x1.7f7d1cp-20};
constexpr double result_ln2_f64[] = {0x1.62e42feep-1, 0x1.a39ef35793c76p-33};

// Bits of the lower end of the significand's range: 2/3 and sqrt(1/2).
constexpr std::int64_t low_f32 = 0x3f2aaaab, low_f64 = 0x3fe6a09e667f3bcdLL;

// The unsigned integer n < 2^mantissa as a float, minus `subtracted`.
Ex small_integer(Ex n, DType type, double subtracted) {
  const double base = type == DType::f32 ? 0x1p23 : 0x1p52;
  const Ex base_bits = literal(n, type == DType::f32 ? 0x4b000000LL : 0x4330000000000000LL);
  const Ex shifted = from_bits(n | base_bits, type);
  return shifted - (base + subtracted);
}

// The exponent part of `bits_of(x) - low`, biased so that it is a small non-negative integer.
Ex biased_exponent(Ex x, std::int64_t low) {
  const Format& f = format(x);
  return (bits_of(x) + ((f.bias << f.mantissa) - low)) >> f.mantissa;
}

std::int64_t low_end(Ex x) { return is_f32(x) ? low_f32 : low_f64; }

// log(1 + f) = 2 s + s^3 p(s^2), s = f / (2 + f), arranged so that f is added last and exactly.
Ex log_sum_f64(Ex f, Ex k, std::span<const double> polynomial) {
  const Ex s = f / (2 + f), z = s * s;
  const Ex rest = z * horner(z, polynomial);
  const Ex half_square = 0.5 * f * f;
  const Ex low = fma(s, half_square + rest, k * result_ln2_f64[1]);
  return fma(k, literal(k, result_ln2_f64[0]), f - (half_square - low));
}

Ex log_sum_f32(Ex f, Ex k) {
  const Ex square = f * f;
  const Ex p = fma(horner(f, coefficients::log_f32), f, literal(f, -0.5));
  const Ex low = fma(k, literal(f, result_ln2_f32[1]), p * square);
  const Pair high = fast_sum(k * literal(f, result_ln2_f32[0]), f);
  return high.hi + (high.lo + low);
}

// 1 + a = (1 + f) 2^k with f rounded once.
Significand log1p_parts(Ex a) {
  const Format& f = format(a);
  const Ex biased = biased_exponent(1 + a, low_end(a));
  const Ex shift = (biased - f.bias) << f.mantissa;
  const Ex scaled = from_bits(bits_of(a) - shift, a.type());
  // four = 2^(2-k), because 2^-k would be subnormal for the largest k.
  const Ex four = from_bits(literal(shift, (f.bias + 2) << f.mantissa) - shift, a.type());
  return {scaled + fma(four, literal(a, 0.25), literal(a, -1.0)),
          small_integer(biased, a.type(), static_cast<double>(f.bias))};
}

Ex log_any(Ex x) {
  const Significand parts = log_parts(x);
  return log_special(x, log_sum(parts.m - 1, parts.k));
}

Ex log1p_any(Ex x) {
  const Significand parts = log1p_parts(x);
  const Ex y = log_special(1 + x, log_sum(parts.m, parts.k));
  return select(abs(x) < format(x).min_normal, x, y);
}

}  // namespace

Significand log_parts(Ex x) {
  const Format& f = format(x);
  const Ex subnormal = x < f.min_normal;
  const double scale_up = is_f32(x) ? 0x1p23 : 0x1p52;
  const Ex normal = select(subnormal, x * scale_up, x);
  const Ex biased = biased_exponent(normal, low_end(x));
  const Ex m = from_bits(bits_of(normal) - ((biased - f.bias) << f.mantissa), x.type());
  const Ex k = small_integer(biased, x.type(), static_cast<double>(f.bias));
  return {m, k - select(subnormal, literal(x, f.mantissa), literal(x, 0.0))};
}

Ex log_sum(Ex f, Ex k) {
  return is_f32(f) ? log_sum_f32(f, k) : log_sum_f64(f, k, coefficients::log_f64);
}

Ex log_special(Ex x, Ex y) {
  const Ex finite = select(x < infinity(x), y, x);
  const Ex zero = select(x == 0, -infinity(x), finite);
  return select(x < 0, nan(x), zero);
}

Ex log_for_f32(Ex x) {
  const Ex biased = biased_exponent(x, low_f64);
  const Ex m = from_bits(bits_of(x) - ((biased - 1023) << 52), DType::f64);
  const Ex k = small_integer(biased, DType::f64, 1023);
  return log_special(x, log_sum_f64(m - 1, k, coefficients::log_f64_for_f32));
}

Ex log1p_for_f32(Ex a) {
  const Significand parts = log1p_parts(a);
  return log_special(1 + a, log_sum_f64(parts.m, parts.k, coefficients::log_f64_for_f32));
}

}  // namespace parts

// Largest error: f32 0.9 ulp, f64 0.9.
Ex log(Ex x) { return parts::by_type(x, parts::log_any, parts::log_any); }
// Largest error: f32 1.7 ulp, f64 1.6.
Ex log1p(Ex x) { return parts::by_type(x, parts::log1p_any, parts::log1p_any); }

}  // namespace rondel::scalar
