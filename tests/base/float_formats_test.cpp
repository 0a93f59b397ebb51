#include "base/float_formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace rondel {
namespace {

/// A second definition of a format: by its fields, with arithmetic on doubles.
struct Field {
  DType type;
  int exponent_bits, mantissa_bits, bias;
  unsigned largest;  ///< code of the largest finite magnitude
};

const Field fields[] = {
    {DType::f16, 5, 10, 15, 0x7bff},  {DType::bf16, 8, 7, 127, 0x7f7f},
    {DType::f8e4m3fn, 4, 3, 7, 0x7e}, {DType::f8e4m3fnuz, 4, 3, 8, 0x7f},
    {DType::f8e5m2, 5, 2, 15, 0x7b},  {DType::f8e5m2fnuz, 5, 2, 16, 0x7f},
    {DType::f4e2m1, 2, 1, 1, 0x7},
};

double magnitude(const Field& f, unsigned code) {
  const unsigned mantissa = code & ((1u << f.mantissa_bits) - 1);
  const int exponent = static_cast<int>(code >> f.mantissa_bits);
  const double fraction = std::ldexp(mantissa, -f.mantissa_bits);
  return exponent ? std::ldexp(1 + fraction, exponent - f.bias) : std::ldexp(fraction, 1 - f.bias);
}

unsigned sign_bit(const Field& f) { return 1u << (f.exponent_bits + f.mantissa_bits); }

/// The nearest magnitude, ties to the even code; `largest + 1` when it rounds beyond the largest.
unsigned nearest(const Field& f, double x) {
  unsigned low = 0, high = f.largest + 1;
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    (magnitude(f, middle) <= x ? low : high) = middle;
  }
  // Exact: all of these fit into a double with room to spare.
  const double below = x - magnitude(f, low), above = magnitude(f, high) - x;
  if (below == above) return low % 2 ? high : low;
  return below < above ? low : high;
}

std::uint16_t expected(const Field& f, double x, bool saturate) {
  const SmallFormat s = small_format(f.type);
  const bool small = is_small_float(f.type);
  const unsigned sign = std::signbit(x) ? sign_bit(f) : 0;
  const unsigned infinity = small ? s.overflow : f.largest + 1;
  const double size = std::abs(x);
  unsigned code = std::isinf(size) ? f.largest + 1 : nearest(f, std::min(size, 1e300));
  if (code > f.largest) code = small && saturate ? f.largest : infinity;
  if (small && s.unsigned_zero && (code == 0 || code == 0x80))
    return static_cast<std::uint16_t>(code);
  return static_cast<std::uint16_t>(code | sign);
}

TEST(FloatFormats, every_code_decodes_to_its_fields) {
  for (const Field& f : fields) {
    for (unsigned code = 0; code <= f.largest; ++code) {
      const float positive = narrow_to_f32(f.type, static_cast<std::uint16_t>(code));
      ASSERT_EQ(static_cast<double>(positive), magnitude(f, code)) << name(f.type) << " " << code;
      if (code == 0 && small_format(f.type).unsigned_zero && is_small_float(f.type)) continue;
      const float negative = narrow_to_f32(f.type, static_cast<std::uint16_t>(code | sign_bit(f)));
      ASSERT_EQ(std::bit_cast<std::uint32_t>(negative),
                std::bit_cast<std::uint32_t>(positive) | 0x80000000u);
    }
  }
}

TEST(FloatFormats, every_code_returns) {
  for (const Field& f : fields) {
    for (unsigned code = 0; code < 2 * sign_bit(f); ++code) {
      const float x = narrow_to_f32(f.type, static_cast<std::uint16_t>(code));
      const std::uint16_t back = f32_to_narrow(f.type, x, false);
      if (std::isnan(x))
        ASSERT_TRUE(std::isnan(narrow_to_f32(f.type, back))) << name(f.type) << " " << code;
      else ASSERT_EQ(back, code) << name(f.type);
    }
  }
}

void holds_for(const Field& f, double x) {
  for (const bool saturate : {true, false}) {
    const std::uint16_t want = expected(f, x, saturate);
    ASSERT_EQ(f64_to_narrow(f.type, x, saturate), want) << name(f.type) << " of " << x;
    const auto narrow = static_cast<float>(x);
    ASSERT_EQ(f32_to_narrow(f.type, narrow, saturate), expected(f, narrow, saturate))
        << name(f.type) << " of " << narrow;
  }
}

TEST(FloatFormats, rounds_to_nearest_even_around_every_boundary) {
  for (const Field& f : fields) {
    for (unsigned code = 0; code <= f.largest; ++code) {
      const double low = magnitude(f, code), middle = (low + magnitude(f, code + 1)) / 2;
      for (const double x :
           {low, middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e300)}) {
        holds_for(f, x);
        holds_for(f, -x);
        holds_for(f, std::nextafterf(static_cast<float>(x), 1e30f));
      }
    }
  }
}

TEST(FloatFormats, rounds_random_bits) {
  std::mt19937_64 rng(7);
  for (int i = 0; i < 50'000; ++i) {
    const auto wide = std::bit_cast<double>(rng());
    const double near = std::ldexp(1 + static_cast<double>(rng()) * 0x1p-64,
                                   static_cast<int>(rng() % 44) - 30);
    const auto narrow = static_cast<double>(
        std::bit_cast<float>(static_cast<std::uint32_t>(rng())));
    for (const double x : {wide, near, narrow})
      if (x == x)
        for (const Field& f : fields) holds_for(f, x);
  }
}

TEST(FloatFormats, special_values_follow_onnx) {
  const float inf = HUGE_VALF, nan = NAN;
  const auto code = [](DType t, float x, bool saturate) { return f32_to_small(t, x, saturate); };
  EXPECT_EQ(code(DType::f8e4m3fn, inf, true), 0x7e);
  EXPECT_EQ(code(DType::f8e4m3fnuz, -inf, true), 0xff);
  EXPECT_EQ(code(DType::f8e5m2, inf, true), 0x7b);
  EXPECT_EQ(code(DType::f8e5m2fnuz, inf, true), 0x7f);
  EXPECT_EQ(code(DType::f8e4m3fn, -inf, false), 0xff);
  EXPECT_EQ(code(DType::f8e4m3fn, 1e6f, false), 0x7f);
  EXPECT_EQ(code(DType::f8e4m3fnuz, -1e6f, false), 0x80);
  EXPECT_EQ(code(DType::f8e5m2, -1e6f, false), 0xfc);
  EXPECT_EQ(code(DType::f8e5m2fnuz, inf, false), 0x80);
  EXPECT_EQ(code(DType::f8e4m3fn, nan, true), 0x7f);
  EXPECT_EQ(code(DType::f8e4m3fnuz, nan, true), 0x80);
  EXPECT_EQ(code(DType::f8e5m2, nan, true), 0x7e);
  EXPECT_EQ(code(DType::f8e4m3fn, -0.0f, true), 0x80);
  EXPECT_EQ(code(DType::f8e4m3fnuz, -0.0f, true), 0x00);
  EXPECT_EQ(code(DType::f8e5m2fnuz, -1e-9f, true), 0x00);
  EXPECT_EQ(code(DType::f4e2m1, inf, true), 0x7);
  EXPECT_EQ(code(DType::f4e2m1, -9.0f, true), 0xf);
  EXPECT_EQ(small_to_f32(DType::f4e2m1, code(DType::f4e2m1, nan, true)), 0.0f);
}

TEST(FloatFormats, scales_are_powers_of_two) {
  for (int code = 0; code < 255; ++code) {
    const float x = e8m0_to_f32(static_cast<std::uint8_t>(code));
    ASSERT_EQ(x, std::ldexp(1.0f, code - 127));
    for (const auto rounding : {ScaleRounding::up, ScaleRounding::down, ScaleRounding::nearest})
      ASSERT_EQ(f32_to_e8m0(x, true, rounding), code);
    if (code == 0 || code == 254) continue;
    ASSERT_EQ(f32_to_e8m0(x * 1.25f, true, ScaleRounding::up), code + 1);
    ASSERT_EQ(f32_to_e8m0(x * 1.25f, true, ScaleRounding::down), code);
    ASSERT_EQ(f32_to_e8m0(x * 1.25f, true, ScaleRounding::nearest), code);
    ASSERT_EQ(f32_to_e8m0(x * 1.5f, true, ScaleRounding::nearest), code + 1);
  }
  EXPECT_TRUE(std::isnan(e8m0_to_f32(0xff)));
  EXPECT_EQ(f32_to_e8m0(0.0f), 0);
  EXPECT_EQ(f32_to_e8m0(0.0f, false), 0xff);
  EXPECT_EQ(f32_to_e8m0(HUGE_VALF), 0xfe);
  EXPECT_EQ(f32_to_e8m0(HUGE_VALF, false), 0xff);
  EXPECT_EQ(f32_to_e8m0(3e38f), 0xfe);
  EXPECT_EQ(f32_to_e8m0(3e38f, false), 0xff);
  EXPECT_EQ(f32_to_e8m0(NAN), 0xff);
  EXPECT_EQ(f32_to_e8m0(0x1.8p-127f), 1);
  EXPECT_EQ(f32_to_e8m0(-2.0f), 128);
}

}  // namespace
}  // namespace rondel
