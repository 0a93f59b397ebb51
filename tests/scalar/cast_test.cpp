#include "base/float_formats.h"
#include "scalar/unary_runner.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace rondel::scalar {
namespace {

const DType narrow[] = {DType::f16,    DType::bf16,   DType::f8e4m3fn,   DType::f8e4m3fnuz,
                        DType::f8e5m2, DType::f8e8m0, DType::f8e5m2fnuz, DType::f4e2m1};

Tensor cast_all(DType to, const Tensor& x, bool saturate = true) {
  return map(to, {x}, [&](Builder& b, const auto& v) { return b.cast(to, v[0], saturate); });
}

std::uint16_t code_at(const Tensor& t, std::size_t i) {
  return byte_size(t.dtype()) == 2 ? t.data_as<std::uint16_t>()[i] : t.data_as<std::uint8_t>()[i];
}

template <class T> Tensor tensor(DType t, const std::vector<T>& values) {
  Tensor out(t, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), out.data_as<T>());
  return out;
}

/// Every code of a format.
Tensor all_codes(DType t) {
  const std::int64_t n = std::int64_t{1} << file_bits(t);
  Tensor out(t, {n});
  for (std::int64_t i = 0; i < n; ++i) {
    if (byte_size(t) == 2) out.data_as<std::uint16_t>()[i] = static_cast<std::uint16_t>(i);
    else out.data_as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  }
  return out;
}

TEST(Cast, every_narrow_code_to_f32) {
  for (const DType t : narrow) {
    const Tensor codes = all_codes(t), wide = cast_all(DType::f32, codes);
    for (std::size_t i = 0; i < static_cast<std::size_t>(codes.size()); ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(wide.data_as<float>()[i]),
                std::bit_cast<std::uint32_t>(narrow_to_f32(t, static_cast<std::uint16_t>(i))))
          << name(t) << " " << i;
  }
}

TEST(Cast, every_narrow_code_to_every_narrow_type) {
  for (const DType from : narrow) {
    const Tensor codes = all_codes(from);
    for (const DType to : narrow) {
      if (from == to) continue;
      for (const bool saturate : {true, false}) {
        const Tensor out = cast_all(to, codes, saturate);
        for (std::size_t i = 0; i < static_cast<std::size_t>(codes.size()); ++i)
          ASSERT_EQ(code_at(out, i),
                    f32_to_narrow(to, narrow_to_f32(from, static_cast<std::uint16_t>(i)), saturate))
              << name(from) << " " << i << " to " << name(to);
      }
    }
  }
}

/// Values around every boundary of every narrow format, and random bits.
std::vector<double> interesting() {
  std::vector<double> out{0.0, -0.0, HUGE_VAL, -HUGE_VAL, NAN, 5e-324, -5e-324, 1e300};
  for (const DType t : {DType::f16, DType::f8e4m3fn, DType::f8e5m2, DType::f8e4m3fnuz,
                        DType::f8e5m2fnuz, DType::f4e2m1}) {
    const int last = t == DType::f16 ? 0x7bff : small_format(t).largest;
    for (int code = 0; code <= last; code += t == DType::f16 ? 37 : 1) {
      const double low = narrow_to_f32(t, static_cast<std::uint16_t>(code));
      const double high = narrow_to_f32(t, static_cast<std::uint16_t>(code + 1));
      const double middle = (low + high) / 2;
      for (const double x :
           {low, middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e300)})
        if (x == x) out.insert(out.end(), {x, -x});
    }
  }
  std::mt19937_64 rng(3);
  for (int i = 0; i < 20'000; ++i) {
    out.push_back(std::bit_cast<double>(rng()));
    const double size = std::ldexp(1 + static_cast<double>(rng()) * 0x1p-64,
                                   static_cast<int>(rng() % 300) - 150);
    out.push_back(rng() % 2 ? size : -size);
  }
  return out;
}

TEST(Cast, floats_to_every_narrow_type) {
  const std::vector<double> wide = interesting();
  std::vector<float> single;
  for (const double x : wide) single.push_back(static_cast<float>(x));
  const Tensor doubles = tensor(DType::f64, wide), floats = tensor(DType::f32, single);
  for (const DType to : narrow) {
    for (const bool saturate : {true, false}) {
      const Tensor from_wide = cast_all(to, doubles, saturate),
                   from_single = cast_all(to, floats, saturate);
      for (std::size_t i = 0; i < wide.size(); ++i) {
        ASSERT_EQ(code_at(from_wide, i), f64_to_narrow(to, wide[i], saturate))
            << name(to) << " " << wide[i];
        ASSERT_EQ(code_at(from_single, i), f32_to_narrow(to, single[i], saturate))
            << name(to) << " " << single[i];
      }
    }
  }
}

/// Integers are rounded once, without a rounding to f32 or f64 in between.
TEST(Cast, integers_to_narrow_floats_round_once) {
  std::vector<std::int64_t> values{0,    1,    -1,    INT64_MAX, INT64_MIN,
                                   2049, 2051, 65519, 65520,     -65520};
  std::mt19937_64 rng(5);
  for (int i = 0; i < 20'000; ++i)
    values.push_back(static_cast<std::int64_t>(rng()) >> (rng() % 63));
  for (int shift = 9; shift < 62; ++shift)  // ties of bf16, and their neighbours
    for (const std::int64_t near : {-1, 0, 1})
      for (const std::int64_t lead : {257, 259}) {
        if (shift > 53) continue;
        values.push_back((lead << shift) + near);
        values.push_back(-(lead << shift) + near);
      }
  const Tensor x = tensor(DType::i64, values), y = cast_all(DType::bf16, x),
               z = cast_all(DType::f16, x);
  const Tensor unsigned_y = cast_all(DType::bf16,
                                     Tensor(DType::u64, x.shape(), {1}, x.data(), x.owner()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto exact = static_cast<long double>(values[i]);  // 64 bits of precision
    const auto nearest_bf16 = [&](long double v) {
      const auto jammed = [&] {  // keep 40 bits and a sticky bit
        int exponent = 0;
        const long double fraction = std::frexp(v, &exponent);
        const long double scaled = std::ldexp(fraction, 40), cut = std::trunc(scaled);
        const double kept = static_cast<double>(std::ldexp(cut, exponent - 40));
        return cut == scaled ? kept : std::nextafter(kept, v < 0 ? -1e300 : 1e300);
      };
      return f64_to_bf16(v == 0 ? 0.0 : jammed());
    };
    ASSERT_EQ(code_at(y, i), nearest_bf16(exact)) << values[i];
    ASSERT_EQ(code_at(unsigned_y, i),
              nearest_bf16(static_cast<long double>(static_cast<std::uint64_t>(values[i]))))
        << values[i];
    ASSERT_EQ(code_at(z, i), f64_to_f16(static_cast<double>(values[i]))) << values[i];
  }
}

TEST(Cast, four_and_two_bit_integers_wrap) {
  std::vector<std::int32_t> values(200);
  std::iota(values.begin(), values.end(), -100);
  const Tensor x = tensor(DType::i32, values);
  for (const DType t : {DType::i4, DType::u4, DType::i2, DType::u2}) {
    const Tensor y = cast_all(t, x), back = cast_all(DType::i64, y);
    const Tensor from_float = cast_all(t, cast_all(DType::f32, x));
    const std::int64_t range = std::int64_t{1} << file_bits(t);
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::int64_t want = values[i] & (range - 1);
      if (is_signed_integer(t) && want >= range / 2) want -= range;
      ASSERT_EQ(back.data_as<std::int64_t>()[i], want) << name(t) << " " << values[i];
      ASSERT_EQ(y.data_as<std::uint8_t>()[i], static_cast<std::uint8_t>(want));
      ASSERT_EQ(from_float.data_as<std::uint8_t>()[i], static_cast<std::uint8_t>(want));
    }
  }
}

TEST(Cast, floats_to_integers_saturate) {
  const std::vector<double> values{0.9, -0.9,     255.5,     -128.9, 1e30,  -1e30,
                                   NAN, HUGE_VAL, -HUGE_VAL, 0x1p63, 0x1p31};
  const Tensor x = tensor(DType::f64, values);
  const auto check = [&]<class T>(T) {
    const Tensor y = cast_all(dtype_of<T>::value, x);
    using Limits = std::numeric_limits<T>;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const long double v = values[i];
      T want = 0;
      if (v != v) want = 0;
      else if (v >= static_cast<long double>(Limits::max())) want = Limits::max();
      else if (v <= static_cast<long double>(Limits::min())) want = Limits::min();
      else want = static_cast<T>(v);
      ASSERT_EQ(y.data_as<T>()[i], want) << name(dtype_of<T>::value) << " of " << values[i];
    }
  };
  check(std::int8_t{}), check(std::int16_t{}), check(std::int32_t{}), check(std::int64_t{});
  check(std::uint8_t{}), check(std::uint16_t{}), check(std::uint32_t{}), check(std::uint64_t{});
}

TEST(Cast, bools_are_nonzero) {
  const Tensor x = Tensor::from<float>({4}, {0.0f, -0.0f, NAN, 0.25f});
  const Tensor y = cast_all(DType::boolean, x);
  EXPECT_EQ((std::vector<bool>(y.data_as<bool>(), y.data_as<bool>() + 4)),
            (std::vector<bool>{false, false, true, true}));
  const Tensor z = cast_all(DType::f8e4m3fn, y);
  EXPECT_EQ(small_to_f32(DType::f8e4m3fn, z.data_as<std::uint8_t>()[3]), 1.0f);
}

}  // namespace
}  // namespace rondel::scalar
