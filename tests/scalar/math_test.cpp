#include "scalar/math.h"

#include <bit>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "scalar/run.h"
#include "scalar/ulp.h"

/// The stated errors of the transcendental functions, on inputs from every binade and the special
/// values, against the C library's long double.
namespace rondel::scalar {
namespace {

using Reference = long double (*)(long double);

struct Case {
  const char* name;
  Ex (*function)(Ex);
  Reference exact;
  double f32_ulp, f64_ulp;  ///< as stated in src/scalar/math*.cpp
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

const Case cases[] = {
    {"exp", exp, std::exp, 1.1, 1.1},
    {"expm1", expm1, std::expm1, 1.5, 1.9},
    {"sigmoid", sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }, 2.5, 2.5},
    {"log", log, std::log, 0.9, 0.9},
    {"log1p", log1p, std::log1p, 1.7, 1.6},
    {"sin", sin, std::sin, 0.8, 0.8},
    {"cos", cos, std::cos, 0.8, 0.8},
    {"tan", tan, std::tan, 1.03, 0.95},
    {"tanh", tanh, std::tanh, 2.5, 2.5},
    {"sinh", sinh, std::sinh, 0.51, 1.1},
    {"cosh", cosh, std::cosh, 0.51, 1.1},
    {"asinh", asinh, std::asinh, 0.51, 1},
    {"acosh", acosh, std::acosh, 0.51, 1},
    {"atanh", atanh, std::atanh, 0.51, 0.51},
    {"asin", asin, std::asin, 1.2, 1.2},
    {"acos", acos, std::acos, 1.1, 1.2},
    {"atan", atan, std::atan, 1.9, 1.9},
    {"erf", erf, std::erf, 1.12, 1},
};

/// out = body(inputs...) on vectors, all of one type.
Tensor apply(const std::vector<Tensor>& inputs, DType result,
             const std::function<Ex(const std::vector<Ex>&)>& body) {
  Builder b("apply");
  std::vector<std::int32_t> in;
  for (const Tensor& t : inputs)
    in.push_back(
        b.buffer({.name = "x", .dtype = t.dtype(), .access = Access::in, .extents = {-1}}));
  const auto out = b.buffer({.name = "y", .dtype = result, .access = Access::out, .extents = {-1}});
  b.for_each(b.index(0), b.extent(in[0], 0), [&](Ex i) {
    std::vector<Ex> values;
    for (const auto id : in) values.push_back(b.load(id, {i}));
    b.store(out, {i}, body(values));
  });
  const Tensor y(result, inputs[0].shape());
  std::vector<Tensor> all = inputs;
  all.push_back(y);
  EXPECT_EQ(interpreted(b.finish(), all), done);
  return y;
}

template <class T> Tensor vector_of(const std::vector<T>& values) {
  return Tensor::from<T>({static_cast<std::int64_t>(values.size())}, std::span<const T>(values));
}

/// Bit patterns: every sign and exponent `each` times with random significands and with the
/// smallest and the largest one; then numbers spread evenly over the ranges where the functions
/// change most.
template <class T, class Bits> std::vector<T> samples(int each, int significand) {
  std::mt19937_64 random(2024);
  std::vector<T> values;
  const int exponents = static_cast<int>(8 * sizeof(T)) - significand;
  const Bits low = (Bits{1} << significand) - 1;
  for (Bits high = 0; high < (Bits{1} << exponents); ++high) {
    values.push_back(std::bit_cast<T>(static_cast<Bits>(high << significand)));
    values.push_back(std::bit_cast<T>(static_cast<Bits>((high << significand) | low)));
    for (int i = 0; i < each; ++i)
      values.push_back(std::bit_cast<T>(
          static_cast<Bits>((high << significand) | (static_cast<Bits>(random()) & low))));
  }
  for (const double range : {1.2, 2.5, 6.0, 25.0, 110.0, 760.0})
    for (int i = 0; i < 3000; ++i)
      values.push_back(
          static_cast<T>(std::ldexp(static_cast<double>(random() >> 11), -52) * range - range));
  return values;
}

/// Numbers next to multiples of pi/2, where the reduction cancels most.
std::vector<double> near_quarter_turns() {
  std::mt19937_64 random(7);
  std::vector<double> values{0x1.6ac5b262ca1ffp+849};  // the nearest of all f64
  for (int i = 0; i < 4000; ++i) {
    const double k = std::rint(std::ldexp(static_cast<double>(random() >> 11), -52 + i % 60));
    const auto x = static_cast<double>(k * 1.57079632679489661923132L);
    values.insert(values.end(), {x, std::nextafter(x, 0.0), -x});
  }
  return values;
}

struct Worst {
  double ulp = 0;
  long double at = 0, got = 0;
};

template <class T>
Worst worst_error(const Case& c, const std::vector<T>& x, const BinaryFormat& format) {
  const Tensor in = vector_of(x);
  const Tensor out = apply({in}, in.dtype(), [&](const auto& v) { return c.function(v[0]); });
  Worst worst;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double got = out.data_as<T>()[i];
    const double ulp = ulp_error(got, c.exact(x[i]), format);
    if (ulp > worst.ulp) worst = {ulp, x[i], got};
  }
  return worst;
}

class Math : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(all, Math, testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Math, f32_is_within_its_stated_error) {
  auto x = samples<float, std::uint32_t>(200, 23);
  for (const double v : near_quarter_turns()) x.push_back(static_cast<float>(v));
  const Worst w = worst_error(GetParam(), x, binary32);
  EXPECT_LE(w.ulp, GetParam().f32_ulp) << "at " << w.at << " got " << w.got;
}

TEST_P(Math, f64_is_within_its_stated_error) {
  auto x = samples<double, std::uint64_t>(10, 52);
  const auto turns = near_quarter_turns();
  x.insert(x.end(), turns.begin(), turns.end());
  const Worst w = worst_error(GetParam(), x, binary64);
  EXPECT_LE(w.ulp, GetParam().f64_ulp) << "at " << w.at << " got " << w.got;
}

// All 65536 values: computing in f32 adds little error to the one rounding.
void check_all_16_bit(const Case& c, DType type, const BinaryFormat& format) {
  std::vector<std::uint16_t> patterns(65536);
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
  const Tensor in = vector_of(patterns);
  const auto widened = [&](bool applied) {
    return apply({in}, DType::f32, [&](const auto& v) {
      const Ex x = bitcast(type, v[0]);
      return cast(DType::f32, applied ? c.function(x) : x);
    });
  };
  const Tensor x = widened(false), y = widened(true);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const float at = x.data_as<float>()[i], got = y.data_as<float>()[i];
    ASSERT_LE(ulp_error(got, c.exact(at), format), 0.51) << "at " << at << " got " << got;
  }
}
TEST_P(Math, f16_is_rounded_once) { check_all_16_bit(GetParam(), DType::f16, binary16); }
TEST_P(Math, bf16_is_rounded_once) { check_all_16_bit(GetParam(), DType::bf16, brain16); }

template <class T>
void check_pow(const std::vector<T>& x, const std::vector<T>& y, const BinaryFormat& format,
               double limit) {
  const Tensor base = vector_of(x), exponent = vector_of(y);
  const Tensor out = apply({base, exponent}, base.dtype(),
                           [](const auto& v) { return pow(v[0], v[1]); });
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double exact = std::pow(static_cast<long double>(x[i]),
                                       static_cast<long double>(y[i]));
    const T got = out.data_as<T>()[i];
    ASSERT_LE(ulp_error(got, exact, format), limit)
        << "pow(" << x[i] << ", " << y[i] << ") gave " << got << ", not " << exact;
  }
}

/// Each pair of zeros, small and large numbers of both signs, infinities and NaN.
template <class T> std::pair<std::vector<T>, std::vector<T>> pairs_of_specials() {
  using Limits = std::numeric_limits<T>;
  const T odd_limit = std::ldexp(T{1}, Limits::digits);
  std::vector<T> values{0,
                        1,
                        2,
                        3,
                        T{0.5},
                        T{2.5},
                        static_cast<T>(0.1),
                        1 + Limits::epsilon(),
                        1 - Limits::epsilon() / 2,
                        odd_limit,
                        odd_limit - 1,
                        odd_limit + 2,
                        Limits::max(),
                        Limits::min(),
                        Limits::denorm_min(),
                        Limits::infinity(),
                        Limits::quiet_NaN()};
  for (std::size_t i = 0, n = values.size(); i < n; ++i) values.push_back(-values[i]);
  std::vector<T> x, y;
  for (const T a : values)
    for (const T b : values) x.push_back(a), y.push_back(b);
  return {std::move(x), std::move(y)};
}
template <class T> void check_pow_specials(const BinaryFormat& format, double limit) {
  const auto [x, y] = pairs_of_specials<T>();
  check_pow(x, y, format, limit);
}
TEST(Pow, f32_has_the_special_values_of_c) { check_pow_specials<float>(binary32, 0.51); }
TEST(Pow, f64_has_the_special_values_of_c) { check_pow_specials<double>(binary64, 1); }

// Bases from everywhere and from near 1, with exponents that spread the results over the range.
template <class T>
void check_pow_samples(double log_range, const BinaryFormat& format, double limit) {
  std::mt19937_64 random(11);
  const auto unit = [&] { return std::ldexp(static_cast<double>(random() >> 11), -52) - 1; };
  std::vector<T> x, y;
  for (int i = 0; i < 60000; ++i) {
    const double base = i % 2 ? std::exp(unit() * log_range) : 1 + std::ldexp(unit(), -1 - i % 40);
    x.push_back(static_cast<T>(base));
    y.push_back(static_cast<T>(unit() * log_range / std::log(base)));
    if (i % 5 == 0) x.back() = -x.back(), y.back() = std::rint(y.back());
  }
  check_pow(x, y, format, limit);
}
TEST(Pow, f32_is_within_its_stated_error) { check_pow_samples<float>(87, binary32, 0.51); }
TEST(Pow, f64_is_within_its_stated_error) { check_pow_samples<double>(740, binary64, 1); }

template <class T> void check_fmod(const std::vector<T>& a, const std::vector<T>& b) {
  const Tensor out = apply({vector_of(a), vector_of(b)}, vector_of(a).dtype(),
                           [](const auto& v) { return fmod(v[0], v[1]); });
  for (std::size_t i = 0; i < a.size(); ++i) {
    const T exact = std::fmod(a[i], b[i]), got = out.data_as<T>()[i];
    const bool same = std::isnan(exact) ? std::isnan(got)
                                        : got == exact && std::signbit(got) == std::signbit(exact);
    ASSERT_TRUE(same) << "fmod(" << a[i] << ", " << b[i] << ") gave " << got << ", not " << exact;
  }
}

// All bits at random; quotients around 1, around a whole number, and around the largest that the
// short way takes.
template <class T, class Bits> void check_fmod_samples(int most) {
  std::mt19937_64 random(13);
  std::vector<T> a, b;
  for (int i = 0; i < 60000; ++i) {
    const auto any = [&] { return std::bit_cast<T>(static_cast<Bits>(random())); };
    const T y = any();
    const T quotient = std::ldexp(
        static_cast<T>(random() % 4096),
        static_cast<int>(random() % static_cast<std::uint64_t>(most)) - 12);
    const T close = std::nextafter(y * std::trunc(quotient), i % 2 == 0 ? T{0} : y);
    b.push_back(y);
    a.push_back(i % 3 == 0 ? any() : i % 3 == 1 ? y * quotient : close);
  }
  check_fmod(a, b);
}
TEST(Fmod, f32_has_the_special_values_of_c) {
  const auto [a, b] = pairs_of_specials<float>();
  check_fmod(a, b);
}
TEST(Fmod, f64_has_the_special_values_of_c) {
  const auto [a, b] = pairs_of_specials<double>();
  check_fmod(a, b);
}
TEST(Fmod, f32_is_exact) { check_fmod_samples<float, std::uint32_t>(26); }
TEST(Fmod, f64_is_exact) { check_fmod_samples<double, std::uint64_t>(56); }

template <class T> T power(T x, std::int64_t n) {
  if (n < 0)
    return x == 1                                           ? T{1}
           : x == static_cast<T>(-1) && std::is_signed_v<T> ? (n % 2 ? x : T{1})
                                                            : T{0};
  std::uint64_t product = 1;
  for (std::int64_t i = 0; i < n; ++i) product *= static_cast<std::uint64_t>(x);
  return static_cast<T>(product);
}

template <class T> class IntegerPow : public testing::Test {};
using Integers =
    testing::Types<std::int8_t, std::uint8_t, std::int32_t, std::uint64_t, std::int64_t>;
TYPED_TEST_SUITE(IntegerPow, Integers);

TYPED_TEST(IntegerPow, wraps_and_inverts_units) {
  std::vector<TypeParam> x, y;
  for (int a = std::is_signed_v<TypeParam> ? -20 : 0; a <= 20; ++a)
    for (int n = std::is_signed_v<TypeParam> ? -5 : 0; n <= 70; ++n) {
      x.push_back(static_cast<TypeParam>(a));
      y.push_back(static_cast<TypeParam>(n));
    }
  const Tensor base = vector_of(x), exponent = vector_of(y);
  const Tensor out = apply({base, exponent}, base.dtype(),
                           [](const auto& v) { return integer_pow(v[0], v[1]); });
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(out.data_as<TypeParam>()[i], power(x[i], static_cast<std::int64_t>(y[i])))
        << +x[i] << " to the " << +y[i];
}

}  // namespace
}  // namespace rondel::scalar
