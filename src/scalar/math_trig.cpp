#include "scalar/math.h"
#include "scalar/math_coefficients.h"
#include "scalar/math_parts.h"
#include "scalar/math_quarter_turns.h"

/// sin, cos and tan: x = q pi/2 + r with r a pair in [-pi/4, pi/4], then sin r and cos r by
/// polynomials, chosen by q.
namespace rondel::scalar {
namespace parts {
namespace {

// sin(r) as a pair whose first part is r; cos(r) as a pair whose first part is 1 - r^2 / 2 rounded.
Pair sin_parts(Pair r) {
  const Ex z = r.hi * r.hi;
  const Ex p = is_f32(z) ? horner(z, coefficients::sin_f32) : horner(z, coefficients::sin_f64);
  const Ex low = fma(-0.5 * z, r.lo, r.lo);
  return {r.hi, fma(r.hi * z, p, low)};
}

Pair cos_parts(Pair r) {
  const Ex z = r.hi * r.hi, half = 0.5 * z;
  const Ex p = is_f32(z) ? horner(z, coefficients::cos_f32) : horner(z, coefficients::cos_f64);
  const Pair head = fast_sum(literal(z, 1.0), -half);
  return {head.hi, fma(z * z, p, fma(-r.hi, r.lo, head.lo))};
}

Pair pick(Ex condition, Pair a, Pair b) {
  return {select(condition, a.hi, b.hi), select(condition, a.lo, b.lo)};
}

Ex bit(Ex n, int which) { return ((n >> which) & 1) != 0; }
Ex negate_if(Ex condition, Ex x) { return select(condition, -x, x); }

// sin(|x| + quarters * pi/2)
Ex shifted_sin(Ex x, int quarters) {
  const Ex a = abs(x);
  const QuarterTurns turns = quarter_turns(a);
  const Ex q = turns.q + quarters;
  const Pair y = pick(bit(q, 0), cos_parts(turns.r), sin_parts(turns.r));
  return select(a < infinity(x), negate_if(bit(q, 1), y.hi + y.lo), nan(x));
}

Ex sin_any(Ex x) { return flip_sign(shifted_sin(x, 0), x); }
Ex cos_any(Ex x) { return shifted_sin(x, 1); }

Ex tan_any(Ex x) {
  const Ex a = abs(x);
  const QuarterTurns turns = quarter_turns(a);
  const Pair sine = sin_parts(turns.r), cosine = cos_parts(turns.r);
  const Pair s = fast_sum(sine.hi, sine.lo), c = fast_sum(cosine.hi, cosine.lo);
  const Ex odd = bit(turns.q, 0);
  const Ex y = divide(pick(odd, c, s), pick(odd, s, c));
  return flip_sign(select(a < infinity(x), negate_if(odd, y), nan(x)), x);
}

}  // namespace
}  // namespace parts

// Largest error: f32 0.80 ulp, f64 0.80.
Ex sin(Ex x) { return parts::by_type(x, parts::sin_any, parts::sin_any); }
// Largest error: f32 0.80 ulp, f64 0.80.
Ex cos(Ex x) { return parts::by_type(x, parts::cos_any, parts::cos_any); }
// Largest error: f32 1.03 ulp, f64 0.95.
Ex tan(Ex x) { return parts::by_type(x, parts::tan_any, parts::tan_any); }

}  // namespace rondel::scalar
