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

Ex estrin(Ex x, std::span<const double> coefficients) {
  std::vector<Ex> sums;  // the polynomial in `power` with these coefficients
  for (const double c : coefficients) sums.push_back(literal(x, c));
  Ex power = x;
  const auto join = [&](std::size_t k) { return fma(sums[k + 1], power, sums[k]); };
  for (bool first = true; sums.size() > 1; first = false) {
    if (!first) power = power * power;
    if (!first && sums.size() % 2 == 1) {  // the last one needs no power of its own
      const Ex last = join(sums.size() - 2);
      sums.pop_back();
      sums.back() = last;
    }
    for (std::size_t k = 0; 2 * k + 1 < sums.size(); ++k) sums[k] = join(2 * k);
    if (sums.size() % 2 == 1) sums[sums.size() / 2] = sums.back();
    sums.resize((sums.size() + 1) / 2);
  }
  return sums[0];
}

Ex lower(Ex x, double hi) { return select(x > hi, hi, x); }
Ex clamp(Ex x, double lo, double hi) { return lower(select(x < lo, lo, x), hi); }

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

}  // namespace rondel::scalar::parts
