#pragma once
#include <rondel/dtype.h>

#include <bit>
#include <cmath>
#include <cstdint>

/// The narrow float formats, converted bit for bit from and to f32, rounding to nearest even. These
/// functions define the casts; the scalar builder emits the same steps as instructions.
namespace rondel {

/// The layout of a signed float of 8 or 4 bits. Magnitudes are codes without the sign bit.
struct SmallFormat {
  int mantissa_bits;
  int bias;
  std::uint8_t sign_bit;
  std::uint8_t largest;    ///< the largest finite magnitude
  std::uint8_t overflow;   ///< code, without sign, of a larger value if casts do not saturate
  std::uint8_t nan;        ///< code, without sign, of a NaN (f4e2m1 has no NaN: a zero)
  std::uint8_t first_nan;  ///< magnitudes from this one on are NaN; 0x80: no magnitude is
  bool unsigned_zero;      ///< there is no -0; its code is the only NaN
  bool has_infinity;       ///< `largest` + 1 is an infinity
};

/// The layout of a float8 type or of f4e2m1, with ONNX's names. A NaN that is cast to f4e2m1 gives
/// a zero, as in ONNX's own test suite.
constexpr SmallFormat small_format(DType t) {
  switch (t) {
    case DType::f8e4m3fn: return {3, 7, 0x80, 0x7e, 0x7f, 0x7f, 0x7f, false, false};
    case DType::f8e4m3fnuz: return {3, 8, 0x80, 0x7f, 0x80, 0x80, 0x80, true, false};
    case DType::f8e5m2: return {2, 15, 0x80, 0x7b, 0x7c, 0x7e, 0x7d, false, true};
    case DType::f8e5m2fnuz: return {2, 16, 0x80, 0x7f, 0x80, 0x80, 0x80, true, false};
    default: return {1, 1, 0x08, 0x07, 0x07, 0x08, 0x80, false, false};  // f4e2m1
  }
}

/// Rounds `x` to an f32 such that a second rounding, to a float of at most 21 mantissa bits, gives
/// the same result as one rounding of `x`: rounds towards zero, and sets the last bit if the result
/// is inexact ("round to odd").
inline float round_to_odd(double x) {
  const float nearest = static_cast<float>(x);
  const double back = nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::abs(back) > std::abs(x)) bits -= 1;
  if (back != x) bits |= 1;
  return std::bit_cast<float>(bits);
}

/// NaN keeps its sign and the upper bits of its payload, and is quiet.
inline std::uint16_t f32_to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
inline float bf16_to_f32(std::uint16_t code) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16);
}
inline std::uint16_t f64_to_bf16(double x) { return f32_to_bf16(round_to_odd(x)); }

/// a if `first`, else b. Without a branch, so that loops vectorize.
inline std::uint32_t either(bool first, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t mask = 0u - static_cast<std::uint32_t>(first);
  return (a & mask) | (b & ~mask);
}

/// NaN keeps its sign and the upper bits of its payload, and is quiet.
inline std::uint16_t f32_to_f16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  const std::uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Subnormals are multiples of 2^-24, the ulp of 0.5: the addition rounds.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  std::uint32_t code = either(magnitude < 0x38800000u, subnormal, normal);  // below 2^-14
  code = either(magnitude >= 0x477ff000u, 0x7c00u, code);                   // 65520 and above
  code = either(magnitude > 0x7f800000u, nan, code);
  return static_cast<std::uint16_t>(sign | code);
}
inline float f16_to_f32(std::uint16_t code) {
  const std::uint32_t sign = static_cast<std::uint32_t>(code & 0x8000u) << 16;
  const std::uint32_t magnitude = code & 0x7fffu;
  const std::uint32_t normal = (magnitude << 13) + 0x38000000u;
  const std::uint32_t nan_or_infinity = normal + 0x38000000u;
  const auto subnormal = std::bit_cast<std::uint32_t>(
      static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f);
  std::uint32_t bits = either(magnitude < 0x400u, subnormal, normal);
  bits = either(magnitude >= 0x7c00u, nan_or_infinity, bits);
  bits |= either(magnitude > 0x7c00u, 0x400000u, 0u);  // quiet
  return std::bit_cast<float>(sign | bits);
}
inline std::uint16_t f64_to_f16(double x) { return f32_to_f16(round_to_odd(x)); }

/// `t` is one of the four signed float8 types or f4e2m1. A value beyond the largest finite one
/// becomes the largest if `saturate`, else infinity or NaN (f4e2m1 always saturates).
inline std::uint8_t f32_to_small(DType t, float x, bool saturate = true) {
  const SmallFormat f = small_format(t);
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint32_t>(bits >> 31 ? f.sign_bit : 0u);
  if (x != x) return static_cast<std::uint8_t>(f.nan | (f.nan < f.sign_bit ? sign : 0u));
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const int shift = 23 - f.mantissa_bits;
  const auto least_normal = static_cast<std::uint32_t>(128 - f.bias) << 23;
  std::uint32_t code = 0;
  if (magnitude < least_normal) {  // subnormal: adding a number of the same ulp rounds
    const auto step = static_cast<std::uint32_t>(151 - f.bias - f.mantissa_bits) << 23;
    const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(step);
    code = std::bit_cast<std::uint32_t>(sum) - step;
  } else {
    const std::uint32_t half = (1u << (shift - 1)) - 1u;
    const std::uint32_t rebased = magnitude - (static_cast<std::uint32_t>(127 - f.bias) << 23);
    code = (rebased + half + ((magnitude >> shift) & 1u)) >> shift;
  }
  if (code > f.largest) code = saturate ? f.largest : f.overflow;
  if (f.unsigned_zero && (code == 0 || code == 0x80u)) return static_cast<std::uint8_t>(code);
  return static_cast<std::uint8_t>(sign | code);
}

inline float small_to_f32(DType t, std::uint8_t code) {
  const SmallFormat f = small_format(t);
  const std::uint32_t magnitude = code & (f.sign_bit - 1u);
  const std::uint32_t sign = code & f.sign_bit ? 0x80000000u : 0u;
  std::uint32_t bits = 0;
  if (magnitude >= f.first_nan || (f.unsigned_zero && code == 0x80u)) {
    bits = 0x7fc00000u;
  } else if (f.has_infinity && magnitude > f.largest) {
    bits = 0x7f800000u;
  } else if (magnitude < (1u << f.mantissa_bits)) {
    const auto step = static_cast<std::uint32_t>(128 - f.bias - f.mantissa_bits) << 23;
    bits = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * std::bit_cast<float>(step));
  } else {
    bits = (magnitude << (23 - f.mantissa_bits)) + (static_cast<std::uint32_t>(127 - f.bias) << 23);
  }
  return std::bit_cast<float>(sign | bits);
}

/// How a scale is rounded to a power of two. `nearest` rounds ties up.
enum class ScaleRounding : std::uint8_t { up, down, nearest };

/// The exponent of |x| as f8e8m0: 2^-127 to 2^127. A magnitude outside of this range, such as zero
/// or infinity, saturates, or becomes NaN (0xff) if not `saturate`.
inline std::uint8_t f32_to_e8m0(float x, bool saturate = true,
                                ScaleRounding rounding = ScaleRounding::up) {
  const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x) & 0x7fffffffu;
  if (x != x) return 0xff;
  if (magnitude < 0x00400000u) return saturate ? 0 : 0xff;
  // A subnormal is rebased so that its leading bit, 2^-127, is the hidden bit of exponent 0.
  const std::uint32_t rebased = magnitude < 0x00800000u ? (magnitude - 0x00400000u) << 1
                                                        : magnitude;
  std::uint32_t carry = 0;
  if (rounding == ScaleRounding::up) carry = 0x7fffffu;
  if (rounding == ScaleRounding::nearest) carry = 0x400000u;
  const std::uint32_t code = (rebased + carry) >> 23;
  if (code > 0xfeu || magnitude == 0x7f800000u) return saturate ? 0xfe : 0xff;
  return static_cast<std::uint8_t>(code);
}

inline float e8m0_to_f32(std::uint8_t code) {
  if (code == 0xff) return std::bit_cast<float>(0x7fc00000u);
  return std::bit_cast<float>(code ? static_cast<std::uint32_t>(code) << 23 : 0x00400000u);
}

/// Any float format narrower than 32 bits; `code` holds its bits, right-aligned.
inline float narrow_to_f32(DType t, std::uint16_t code) {
  if (t == DType::f16) return f16_to_f32(code);
  if (t == DType::bf16) return bf16_to_f32(code);
  const auto byte = static_cast<std::uint8_t>(code);
  return t == DType::f8e8m0 ? e8m0_to_f32(byte) : small_to_f32(t, byte);
}
inline std::uint16_t f32_to_narrow(DType t, float x, bool saturate = true) {
  if (t == DType::f16) return f32_to_f16(x);
  if (t == DType::bf16) return f32_to_bf16(x);
  return t == DType::f8e8m0 ? f32_to_e8m0(x, saturate) : f32_to_small(t, x, saturate);
}
/// The same from f64, with one rounding.
inline std::uint16_t f64_to_narrow(DType t, double x, bool saturate = true) {
  return f32_to_narrow(t, round_to_odd(x), saturate);
}

}  // namespace rondel
