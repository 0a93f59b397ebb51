#include "scalar/math.h"
#include "scalar/math_coefficients.h"
#include "scalar/math_parts.h"

/// erf: a polynomial near 0, and 1 - exp(q) with a polynomial q for log(erfc) beyond.
namespace rondel::scalar {
namespace parts {
namespace {

constexpr double split = 0.875;  // `near` up to here, `far` beyond; its polynomial is in a - split

Ex near(Ex a) {
  const Ex square = a * a;
  return is_f32(a) ? fma(estrin(square, coefficients::erf_f32), a, a)
                   : fma(estrin(square, coefficients::erf_f64), a, a);
}

// From 3.92 (f32) and 5.93 (f64) on the result is 1.
Ex far(Ex a) {
  const Ex t = lower(a, is_f32(a) ? 4 : 6) - split;
  const Ex q = is_f32(a) ? horner(t, coefficients::log_erfc_f32)
                         : horner(t, coefficients::log_erfc_f64);
  const ExponentialSum e = exponential_sum(q);
  const Ex power = power_of_two_in(e.shifted);
  return fma(-power, e.t, 1 - power);
}

Ex erf_any(Ex x) {
  const Ex a = abs(x);
  return flip_sign(select(a < split, near(a), far(a)), x);
}

}  // namespace
}  // namespace parts

// Largest error: f32 1.12 ulp, f64 1.
Ex erf(Ex x) { return parts::by_type(x, parts::erf_any, parts::erf_any); }

}  // namespace rondel::scalar
