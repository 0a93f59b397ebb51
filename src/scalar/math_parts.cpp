#include "scalar/math_parts.h"

namespace rondel::scalar::parts {

Ex by_type(Ex x, Function f32, Function f64) {
  if (x.type() == DType::f64) return f64(x);
  if (x.type() == DType::f32) return f32(x);
  return cast(x.type(), f32(cast(DType::f32, x)));
}

Ex bits_of(Ex x) { return bitcast(format(x).bits, x); }
Ex from_bits(Ex bits, DType type) { return bitcast(type, bits); }

Ex flip_sign(Ex magnitude, Ex sign_source) {
  return from_bits(bits_of(magnitude) ^ (bits_of(sign_source) & format(magnitude).sign),
                   magnitude.type());
}

Ex infinity(Ex like) { return literal(like, std::numeric_limits<double>::infinity()); }
Ex nan(Ex like) { return literal(like, std::numeric_limits<double>::quiet_NaN()); }

Ex horner(Ex x, std::span<const double> coefficients) {
  Ex sum = literal(x, coefficients.back());
  for (std::size_t i = coefficients.size() - 1; i-- > 0;)
    sum = fma(sum, x, literal(x, coefficients[i]));
  return sum;
}

Ex clamp(Ex x, double lo, double hi) {
  const Ex raised = select(x < lo, lo, x);
  return select(raised > hi, hi, raised);
}

Pair fast_sum(Ex a, Ex b) {
  const Ex sum = a + b;
  return {sum, b - (sum - a)};
}

Pair two_sum(Ex a, Ex b) {
  const Ex sum = a + b, b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

Pair two_product(Ex a, Ex b) {
  const Ex product = a * b;
  return {product, fma(a, b, -product)};
}

Ex divide(Pair n, Pair d) {
  const Ex inverse = 1 / d.hi, quotient = n.hi * inverse;
  const Ex rest = fma(-quotient, d.hi, n.hi) + fma(-quotient, d.lo, n.lo);
  return fma(rest, inverse, quotient);
}

Ex power_of_two(Ex n, DType type) {
  const Format& f = type == DType::f32 ? f32_format : f64_format;
  return from_bits((n + f.bias) << f.mantissa, type);
}

Ex scale(Ex x, Ex n) {
  // Halved by a logical shift of n + 4096, so that negative n works too.
  const Ex half = ((n + 4096) >> 1) - 2048;
  return (x * power_of_two(half, x.type())) * power_of_two(n - half, x.type());
}

}  // namespace rondel::scalar::parts
