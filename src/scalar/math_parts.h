#pragma once
#include <limits>
#include <span>

#include "scalar/builder.h"

/// Helpers shared by the transcendental functions. They take f32 or f64 and compute in the type of
/// their argument. Integers that hold parts of floats are unsigned, have the width of the float
/// (`u32`, `u64`), and wrap, because such arithmetic vectorizes.
namespace rondel::scalar::parts {

/// The layout of a float type, and constants that several functions need.
struct Format {
  DType bits;         ///< the unsigned integer of the same width
  int mantissa;       ///< stored bits of the significand
  std::int64_t bias;  ///< exponent bias
  double min_normal;  ///< the smallest normal number
  double rounder;     ///< 1.5 * 2^mantissa: adding it rounds to an integer, kept in the low bits
  std::int64_t rounder_bits;
  std::int64_t sign;  ///< the sign bit
};
inline constexpr Format f32_format{DType::u32, 23,         127,         0x1p-126,
                                   0x1.8p23,   0x4b400000, 0x80000000LL};
inline constexpr Format f64_format{DType::u64,
                                   52,
                                   1023,
                                   0x1p-1022,
                                   0x1.8p52,
                                   0x4338000000000000LL,
                                   std::numeric_limits<std::int64_t>::min()};
inline bool is_f32(Ex x) { return x.type() == DType::f32; }
inline const Format& format(Ex x) { return is_f32(x) ? f32_format : f64_format; }

/// A value as a sum: `lo` is at most about half an ulp of `hi`.
struct Pair {
  Ex hi, lo;
};

using Function = Ex (*)(Ex);
/// f32(x) or f64(x) by the type of x; narrower floats compute in f32 and round once.
Ex by_type(Ex x, Function f32, Function f64);

/// Bit casts to an unsigned integer, and back.
Ex bits_of(Ex x);
Ex from_bits(Ex bits, DType type);
/// `magnitude` with its sign flipped where `sign_source` is negative (its sign bit set).
Ex flip_sign(Ex magnitude, Ex sign_source);
Ex infinity(Ex like);
Ex nan(Ex like);

/// c[0] + c[1] x + ... by Horner's rule, one fma per step.
Ex horner(Ex x, std::span<const double> coefficients);
/// The same by Estrin's scheme: little more work, and a chain of operations that is as long as the
/// logarithm of the number of coefficients. Its last sums are rounded once more.
Ex estrin(Ex x, std::span<const double> coefficients);
/// The smaller one of x and `hi`; NaN passes.
Ex lower(Ex x, double hi);
/// Clamps to [lo, hi]; NaN passes.
Ex clamp(Ex x, double lo, double hi);

/// a + b exactly; `fast_sum` needs |a| >= |b| or a = 0.
Pair two_sum(Ex a, Ex b);
Pair fast_sum(Ex a, Ex b);
/// a * b exactly, barring underflow.
Pair two_product(Ex a, Ex b);
/// n / d with an error below 0.51 ulp, by one division.
Ex divide(Pair n, Pair d);

/// The reduction of exp: x = n ln2 + r, |r| <= ln2 / 2, for |x| small enough for n to fit the
/// exponent range twice. `r` is rounded once. n is a float, and the low bits of `shifted`.
struct ReducedArgument {
  Ex r, n, shifted;
};
ReducedArgument reduce_by_ln2(Ex x);
/// 2^(n + more) for the n in `shifted`; it must be normal.
Ex power_of_two_in(Ex shifted, int more = 0);
/// exp(times x) = 2^n + 2^n t, for x as above; `times` is a power of two, or its negative. t has an
/// error of about half an ulp of 1/4.
struct ExponentialSum {
  Ex t, shifted;
};
ExponentialSum exponential_sum(Ex x, double times = 1);
/// The same with a small relative error of t.
ExponentialSum expm1_sum(Ex x, double times = 1);
/// exp(x) = (hi + lo) * 2^n, with hi in [0.7, 1.42]; for x as above. `lo` is the rounding error of
/// hi, known to about 2^-4 ulp of hi.
struct Exponential {
  Ex hi, lo, n, shifted;
};
Exponential exponential(Ex x);

/// x = m 2^k with m about 1 and k as a float; x positive and finite. `log_parts` also takes
/// subnormal x. f32: m in [2/3, 4/3). f64: m in [sqrt(1/2), sqrt(2)).
struct Significand {
  Ex m, k;
};
Significand log_parts(Ex x);
/// log(1 + f) + k ln2 for a significand 1 + f in the range above.
Ex log_sum(Ex f, Ex k);
/// `y`, the logarithm of x > 0, replaced by the special values for x = 0, x < 0, infinity and NaN.
Ex log_special(Ex x, Ex y);

/// For f32 functions that compute in f64: polynomials with errors of 2^-39 and 2^-44.
Ex exp_for_f32(Ex x);  ///< |x| < 700
Ex log_for_f32(Ex x);  ///< x normal, and the special values
/// log(1 + a), to 2^-42 relative; a > -1/2, or one of the special values: 1 + a <= 0 or not finite.
Ex log1p_for_f32(Ex a);

/// log(m) + k ln2 in f64 as a pair, to about 2^-66 relative, for m in [sqrt(1/2), sqrt(2)].
Pair log_extended_sum(Pair m, Ex k);
/// log(1 + a.hi + a.lo) in the same way; 1 + a normal and below 2^1000.
Pair log1p_extended(Pair a);

}  // namespace rondel::scalar::parts
