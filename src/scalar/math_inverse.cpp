#include "scalar/math.h"
#include "scalar/math_coefficients.h"
#include "scalar/math_parts.h"

/// asin, acos and atan: half-angle and difference identities reduce the argument to a range near 0,
/// where one polynomial is enough.
namespace rondel::scalar {
namespace parts {
namespace {

constexpr double half_pi_f32[] = {0x1.921fb6p+0, -0x1.777a5cp-25};
constexpr double half_pi_f64[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
constexpr double eighth_turn_tan = 0.41421356;  // tan(pi / 8)

const double* half_pi(Ex x) { return is_f32(x) ? half_pi_f32 : half_pi_f64; }

// asin(s) = s + rest where s = a or, beyond 1/2, s = sqrt((1 - a) / 2) = sin((pi/2 - asin(a)) / 2).
struct ArcSine {
  Ex s, rest, far;
};
ArcSine arc_sine(Ex a) {
  const Ex far = a > 0.5;
  const Ex z = select(far, 0.5 - 0.5 * a, a * a), s = select(far, sqrt(z), a);
  const Ex p = is_f32(a) ? horner(z, coefficients::asin_f32) : horner(z, coefficients::asin_f64);
  return {s, s * z * p, far};
}

Ex asin_any(Ex x) {
  const ArcSine arc = arc_sine(abs(x));
  const double* half = half_pi(x);
  const Pair high = fast_sum(literal(x, half[0]), -2 * arc.s);
  const Ex from_half_pi = high.hi + (high.lo + (half[1] - 2 * arc.rest));
  return flip_sign(select(arc.far, from_half_pi, arc.s + arc.rest), x);
}

Ex acos_any(Ex x) {
  const ArcSine arc = arc_sine(abs(x));
  const double* half = half_pi(x);
  const Ex twice = 2 * (arc.s + arc.rest);
  const Ex far = select(x < 0, 2 * half[0] - (twice - 2 * half[1]), twice);
  const Ex signed_s = flip_sign(arc.s, x), signed_rest = flip_sign(arc.rest, x);
  const Ex near = half[0] - (signed_s - (half[1] - signed_rest));
  return select(arc.far, far, near);
}

// atan(a) = base + atan(t): t is a, (a - 1) / (a + 1) about pi/4, or -1 / a about pi/2.
Ex atan_any(Ex x) {
  const Ex a = abs(x), near = a <= eighth_turn_tan, far = a > 1 / eighth_turn_tan;
  const Ex numerator = select(near, a, select(far, -1.0, a - 1));
  const Ex denominator = select(near, 1.0, select(far, a, a + 1));
  const double* half = half_pi(x);
  const auto base = [&](int part) {
    return select(near, 0.0, select(far, literal(x, half[part]), literal(x, 0.5 * half[part])));
  };
  const Ex t = numerator / denominator, z = t * t;
  const Ex p = is_f32(x) ? horner(z, coefficients::atan_f32) : horner(z, coefficients::atan_f64);
  const Ex low = fma(t * z, p, base(1));
  const Pair high = fast_sum(base(0), t);
  return flip_sign(high.hi + (high.lo + low), x);
}

}  // namespace
}  // namespace parts

// Largest error: f32 1.2 ulp, f64 1.2.
Ex asin(Ex x) { return parts::by_type(x, parts::asin_any, parts::asin_any); }
// Largest error: f32 1.1 ulp, f64 1.2.
Ex acos(Ex x) { return parts::by_type(x, parts::acos_any, parts::acos_any); }
// Largest error: f32 1.9 ulp, f64 1.9.
Ex atan(Ex x) { return parts::by_type(x, parts::atan_any, parts::atan_any); }

}  // namespace rondel::scalar
