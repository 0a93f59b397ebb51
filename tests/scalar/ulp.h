#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

/// How far a result is from the exact one, in units in the last place of a float type.
namespace rondel::scalar {

/// A binary format: the bits of its significand (the hidden one included), and the exponents of its
/// smallest and largest binades as frexp has them (significand in [0.5, 1)).
struct BinaryFormat {
  int precision, min_exponent, max_exponent;
};
inline constexpr BinaryFormat binary64{53, -1021, 1024}, binary32{24, -125, 128},
    binary16{11, -13, 16}, brain16{8, -125, 128};

/// An ulp of the binade that `x` is in; that of the subnormals for 0.
inline long double ulp_of(long double x, const BinaryFormat& f) {
  int exponent = f.min_exponent;
  if (x != 0) std::frexp(x, &exponent);
  return std::ldexp(1.0L, std::clamp(exponent, f.min_exponent, f.max_exponent) - f.precision);
}

/// The exact value rounded to the format, ties to even.
inline long double rounded(long double exact, const BinaryFormat& f) {
  if (!std::isfinite(exact)) return exact;
  const long double ulp = ulp_of(exact, f), y = std::nearbyint(exact / ulp) * ulp;
  const bool fits = std::abs(y) < std::ldexp(1.0L, f.max_exponent);
  return std::copysign(fits ? y : std::numeric_limits<long double>::infinity(), exact);
}

/// The error of `got` in ulp; infinite when NaN, infinity or the sign of zero differ. The largest
/// finite number is one ulp from infinity.
inline double ulp_error(long double got, long double exact, const BinaryFormat& f) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  const long double want = rounded(exact, f);
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : wrong;
  if (std::signbit(got) != std::signbit(want)) return wrong;
  if (std::isinf(got) && std::isinf(want)) return 0;
  const auto bounded = [&](long double x) {
    return std::isinf(x) ? std::copysign(std::ldexp(1.0L, f.max_exponent), x) : x;
  };
  const long double distance = std::abs(bounded(got) - bounded(std::isinf(want) ? want : exact));
  return static_cast<double>(distance / ulp_of(exact, f));
}

}  // namespace rondel::scalar
