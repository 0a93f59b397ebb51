#include "scalar/math_coefficients.h"
#include "scalar/math_parts.h"

/// The logarithm in f64 as a pair, for pow and the inverse hyperbolic functions: the series in
/// s = (m - 1) / (m + 1) with s and the first three terms as pairs and the rest in f64.
namespace rondel::scalar::parts {
namespace {

// The first part has 42 bits, so that k times it is exact.
constexpr double ln2[] = {0x1.62e42fefa38p-1, 0x1.ef35793c7673p-45};
constexpr double two_thirds[] = {0x1.5555555555555p-1, 0x1.5555555555555p-55};
constexpr double two_fifths[] = {0x1.999999999999ap-2, -0x1.999999999999ap-56};

Pair multiply(Pair a, Pair b) {
  const Pair product = two_product(a.hi, b.hi);
  return {product.hi, product.lo + fma(a.hi, b.lo, a.lo * b.hi)};
}

// constant + a, for a smaller than the constant.
Pair add_to(double hi, double lo, Pair a) {
  const Pair sum = fast_sum(literal(a.hi, hi), a.hi);
  return {sum.hi, sum.lo + (a.lo + lo)};
}

// (m - 1) / (m + 1)
Pair ratio(Pair m) {
  const Pair numerator = two_sum(m.hi - 1, m.lo);
  const Pair denominator = add_to(2, 0, numerator);
  const Ex q = numerator.hi / denominator.hi;
  const Ex rest = fma(-q, denominator.hi, numerator.hi) + fma(-q, denominator.lo, numerator.lo);
  return {q, rest / denominator.hi};
}

}  // namespace

Pair log_extended_sum(Pair m, Ex k) {
  const Pair s = ratio(m), z = multiply(s, s);
  const Ex tail = z.hi * horner(z.hi, coefficients::log_extended);
  const Pair fifth = add_to(two_fifths[0], two_fifths[1], {tail, literal(tail, 0.0)});
  const Pair third = add_to(two_thirds[0], two_thirds[1], multiply(z, fifth));
  const Pair log_m = multiply(s, add_to(2, 0, multiply(z, third)));
  const Pair sum = two_sum(k * ln2[0], log_m.hi);
  return fast_sum(sum.hi, sum.lo + fma(k, literal(k, ln2[1]), log_m.lo));
}

Pair log1p_extended(Pair a) {
  const Pair sum = two_sum(literal(a.hi, 1.0), a.hi);
  const Significand parts = log_parts(sum.hi);
  // 2^-k, exactly.
  const Ex inverse_power = parts.m / sum.hi;
  return log_extended_sum({parts.m, (sum.lo + a.lo) * inverse_power}, parts.k);
}

}  // namespace rondel::scalar::parts
