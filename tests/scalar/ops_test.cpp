#include "scalar/unary_runner.h"

#include <cmath>
#include <cstring>
#include <limits>

/// Every primitive on every type with edge values, against a second definition of its meaning.
namespace rondel::scalar {
namespace {

using Wide = __int128;

template <class T> class Integers : public testing::Test {};
using IntegerTypes = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                                    std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Integers, IntegerTypes);

template <class T> Tensor vector_of(const std::vector<T>& values) {
  return Tensor::from<T>({static_cast<std::int64_t>(values.size())}, values);
}

template <class T> std::vector<T> edges() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> out{Limits::min(), static_cast<T>(Limits::min() + 1), Limits::max(),
                     static_cast<T>(Limits::max() - 1)};
  for (const int v : {-9, -3, -1, 0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 63, 64, 100})
    out.push_back(static_cast<T>(v));
  return out;
}

/// All pairs of edge values, as two tensors.
template <class T> std::pair<Tensor, Tensor> pairs(const std::vector<T>& values) {
  std::vector<T> a, b;
  for (const T x : values)
    for (const T y : values) a.push_back(x), b.push_back(y);
  return {vector_of(a), vector_of(b)};
}

template <class T, class F> void integer_op(Op op, F meaning) {
  const std::pair<Tensor, Tensor> both = pairs(edges<T>());
  const Tensor a = both.first, b = both.second;
  const Tensor y = map(a.dtype(), {a, b},
                       [&](Builder& s, const auto& v) { return s.binary(op, v[0], v[1]); });
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const T p = a.data_as<T>()[i], q = b.data_as<T>()[i];
    ASSERT_EQ(y.data_as<T>()[i], static_cast<T>(meaning(Wide(p), Wide(q))))
        << name(op) << " " << name(a.dtype()) << " " << +p << " " << +q;
  }
}

TYPED_TEST(Integers, arithmetic_wraps) {
  using T = TypeParam;
  const Wide min = std::numeric_limits<T>::min();
  integer_op<T>(Op::add, [](Wide a, Wide b) { return a + b; });
  integer_op<T>(Op::sub, [](Wide a, Wide b) { return a - b; });
  integer_op<T>(Op::mul, [](Wide a, Wide b) {
    return static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
  });
  integer_op<T>(Op::div,
                [=](Wide a, Wide b) { return b == 0 ? 0 : (b == -1 && a == min ? min : a / b); });
  integer_op<T>(Op::rem, [](Wide a, Wide b) { return b == 0 ? 0 : a % b; });
}

TYPED_TEST(Integers, bits) {
  using T = TypeParam;
  constexpr int width = sizeof(T) * 8;
  integer_op<T>(Op::band, [](Wide a, Wide b) { return a & b; });
  integer_op<T>(Op::bor, [](Wide a, Wide b) { return a | b; });
  integer_op<T>(Op::bxor, [](Wide a, Wide b) { return a ^ b; });
  const auto out = [](Wide b) { return b < 0 || b >= width; };
  integer_op<T>(Op::shl, [=](Wide a, Wide b) {
    return out(b) ? 0 : static_cast<Wide>(static_cast<unsigned __int128>(a) << static_cast<int>(b));
  });
  integer_op<T>(Op::shr, [=](Wide a, Wide b) {
    return out(b) ? (a < 0 ? -1 : 0) : a >> static_cast<int>(b);
  });
}

TYPED_TEST(Integers, comparisons_and_signs) {
  using T = TypeParam;
  const std::pair<Tensor, Tensor> both = pairs(edges<T>());
  const Tensor a = both.first, b = both.second;
  const auto compare = [&](Op op) {
    return map(DType::boolean, {a, b},
               [&](Builder& s, const auto& v) { return s.binary(op, v[0], v[1]); });
  };
  const auto one = [&](auto f) {
    return map(a.dtype(), {a, b}, [&](Builder&, const std::vector<Ex>& v) { return f(v); });
  };
  const Tensor eq = compare(Op::eq), ne = compare(Op::ne), lt = compare(Op::lt),
               le = compare(Op::le);
  const Tensor neg = one([](const auto&v) { return -v[0]; }),
               inv = one([](const auto&v) { return ~v[0]; });
  const Tensor low = one([](const auto& v) { return min(v[0], v[1]); });
  const Tensor high = one([](const auto& v) { return max(v[0], v[1]); });
  const Tensor size = one([](const auto& v) { return abs(v[0]); });
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const T p = a.data_as<T>()[i], q = b.data_as<T>()[i];
    ASSERT_EQ(eq.data_as<bool>()[i], p == q);
    ASSERT_EQ(ne.data_as<bool>()[i], p != q);
    ASSERT_EQ(lt.data_as<bool>()[i], p < q);
    ASSERT_EQ(le.data_as<bool>()[i], p <= q);
    ASSERT_EQ(neg.data_as<T>()[i], static_cast<T>(-Wide(p)));
    ASSERT_EQ(inv.data_as<T>()[i], static_cast<T>(~p));
    ASSERT_EQ(low.data_as<T>()[i], std::min(p, q));
    ASSERT_EQ(high.data_as<T>()[i], std::max(p, q));
    ASSERT_EQ(size.data_as<T>()[i], static_cast<T>(p < 0 ? -Wide(p) : Wide(p)));
  }
}

TYPED_TEST(Integers, convert_to_each_other_by_wrapping) {
  using T = TypeParam;
  const Tensor a = vector_of(edges<T>());
  const auto to = [&]<class U>(U) {
    const Tensor y = map(dtype_of<U>::value, {a},
                         [](Builder&, const auto& v) { return cast(dtype_of<U>::value, v[0]); });
    for (std::int64_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(y.data_as<U>()[i], static_cast<U>(a.data_as<T>()[i]));
  };
  to(std::int8_t{}), to(std::int16_t{}), to(std::int32_t{}), to(std::int64_t{}), to(std::uint8_t{});
  to(std::uint16_t{}), to(std::uint32_t{}), to(std::uint64_t{}), to(float{}), to(double{}),
      to(bool{});
}

template <class T> class Floats : public testing::Test {};
using FloatTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(Floats, FloatTypes);

template <class T> std::vector<T> float_edges() {
  using Limits = std::numeric_limits<T>;
  return {T(0),
          T(-0.0),
          T(1),
          T(-1),
          T(0.5),
          T(2.5),
          T(-3.5),
          T(1e-3),
          Limits::infinity(),
          -Limits::infinity(),
          Limits::quiet_NaN(),
          Limits::max(),
          Limits::lowest(),
          Limits::min(),
          Limits::denorm_min(),
          T(1e10)};
}

template <class T> void same(T got, T want, const char* what) {
  if (want != want) ASSERT_TRUE(got != got) << what;
  else
    ASSERT_TRUE(got == want && std::signbit(got) == std::signbit(want))
        << what << " " << got << " " << want;
}

TYPED_TEST(Floats, arithmetic_is_ieee) {
  using T = TypeParam;
  const std::pair<Tensor, Tensor> both = pairs(float_edges<T>());
  const Tensor a = both.first, b = both.second;
  const auto check = [&](const char* what, auto built, auto meaning) {
    const Tensor y = map(a.dtype(), {a, b},
                         [&](Builder&, const std::vector<Ex>& v) { return built(v[0], v[1]); });
    for (std::int64_t i = 0; i < a.size(); ++i)
      same<T>(y.data_as<T>()[i], meaning(a.data_as<T>()[i], b.data_as<T>()[i]), what);
  };
  check(
      "add", [](Ex p, Ex q) { return p + q; }, [](T p, T q) { return p + q; });
  check(
      "sub", [](Ex p, Ex q) { return p - q; }, [](T p, T q) { return p - q; });
  check(
      "mul", [](Ex p, Ex q) { return p * q; }, [](T p, T q) { return p * q; });
  check(
      "div", [](Ex p, Ex q) { return p / q; }, [](T p, T q) { return p / q; });
  check(
      "rem", [](Ex p, Ex q) { return p % q; }, [](T p, T q) { return std::fmod(p, q); });
  check(
      "fma", [](Ex p, Ex q) { return fma(p, q, p); }, [](T p, T q) { return std::fma(p, q, p); });
  check(
      "neg", [](Ex p, Ex) { return -p; }, [](T p, T) { return -p; });
  check(
      "sqrt", [](Ex p, Ex) { return sqrt(p); }, [](T p, T) { return std::sqrt(p); });
  check(
      "floor", [](Ex p, Ex) { return floor(p); }, [](T p, T) { return std::floor(p); });
  check(
      "ceil", [](Ex p, Ex) { return ceil(p); }, [](T p, T) { return std::ceil(p); });
  check(
      "trunc", [](Ex p, Ex) { return trunc(p); }, [](T p, T) { return std::trunc(p); });
  check(
      "round", [](Ex p, Ex) { return round_even(p); }, [](T p, T) { return std::nearbyint(p); });
  check(
      "abs", [](Ex p, Ex) { return abs(p); }, [](T p, T) { return std::abs(p); });
  check(
      "select", [](Ex p, Ex q) { return select(p < q, p, 2); },
      [](T p, T q) { return p < q ? p : T(2); });
  const auto nan = [](T p, T q) { return p != p ? p : q; };
  check(
      "min", [](Ex p, Ex q) { return min(p, q); },
      [=](T p, T q) { return p != p || q != q ? nan(p, q) : (p < q ? p : q); });
  check(
      "max", [](Ex p, Ex q) { return max(p, q); },
      [=](T p, T q) { return p != p || q != q ? nan(p, q) : (q < p ? p : q); });
}

TYPED_TEST(Floats, comparisons_are_false_for_nan) {
  using T = TypeParam;
  const std::pair<Tensor, Tensor> both = pairs(float_edges<T>());
  const Tensor a = both.first, b = both.second;
  const auto check = [&](Op op, auto meaning) {
    const Tensor y = map(DType::boolean, {a, b},
                         [&](Builder& s, const auto& v) { return s.binary(op, v[0], v[1]); });
    for (std::int64_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(y.data_as<bool>()[i], meaning(a.data_as<T>()[i], b.data_as<T>()[i])) << name(op);
  };
  check(Op::eq, [](T p, T q) { return p == q; });
  check(Op::ne, [](T p, T q) { return p != q; });
  check(Op::lt, [](T p, T q) { return p < q; });
  check(Op::le, [](T p, T q) { return p <= q; });
}

TEST(Ops, bool_logic) {
  const Tensor a = Tensor::from<bool>({4}, {false, false, true, true}),
               b = Tensor::from<bool>({4}, {false, true, false, true});
  const auto table = [&](auto f) {
    const Tensor y = map(DType::boolean, {a, b},
                         [&](Builder&, const std::vector<Ex>& v) { return f(v[0], v[1]); });
    int bits = 0;
    for (int i = 0; i < 4; ++i) bits = bits * 2 + y.data_as<bool>()[i];
    return bits;
  };
  EXPECT_EQ(table([](Ex p, Ex q) { return p & q; }), 0b0001);
  EXPECT_EQ(table([](Ex p, Ex q) { return p | q; }), 0b0111);
  EXPECT_EQ(table([](Ex p, Ex q) { return p ^ q; }), 0b0110);
  EXPECT_EQ(table([](Ex p, Ex) { return ~p; }), 0b1100);
  EXPECT_EQ(table([](Ex p, Ex q) { return p == q; }), 0b1001);
  EXPECT_EQ(table([](Ex p, Ex q) { return p != q; }), 0b0110);
  EXPECT_EQ(table([](Ex p, Ex q) { return min(p, q); }), 0b0001);
  EXPECT_EQ(table([](Ex p, Ex q) { return max(p, q); }), 0b0111);
}

TEST(Ops, half_floats_round_after_every_operation) {
  // 2048 + 1 is not an f16: rounded to even it stays 2048, twice.
  const auto code = [](float x) { return static_cast<std::int64_t>(f32_to_f16(x)); };
  Builder b("half");
  const auto y = b.buffer({"y", DType::f16, Access::out, {2}});
  const Ex big = b.load(y, {b.index(0)}), one = b.constant(DType::f16, 1.0);
  b.store(y, {b.index(1)}, big + one + one);
  const auto program = b.finish();
  const Tensor out(DType::f16, {2});
  out.data_as<std::uint16_t>()[0] = static_cast<std::uint16_t>(code(2048));
  ASSERT_EQ(interpreted(program, {out}), done);
  EXPECT_EQ(out.data_as<std::uint16_t>()[1], code(2048));
}

TEST(Ops, strings_and_complex_numbers_move_and_compare) {
  const Tensor a = Tensor::from<std::string>({3}, {"x", "", "long enough to live elsewhere"});
  const Tensor b = Tensor::from<std::string>({3}, {"x", "y", "long enough to live elsewhere"});
  const Tensor same = map(DType::boolean, {a, b},
                          [](Builder&, const auto& v) { return v[0] == v[1]; });
  EXPECT_TRUE(same.data_as<bool>()[0] && !same.data_as<bool>()[1] && same.data_as<bool>()[2]);
  const Tensor pick = map(DType::string, {a, b, same},
                          [](Builder&, const auto& v) { return select(v[2], v[0], v[1]); });
  EXPECT_EQ(pick.data_as<std::string>()[1], "y");
  EXPECT_EQ(pick.data_as<std::string>()[2], "long enough to live elsewhere");

  const Tensor c(DType::c128, {2});
  const double parts[] = {1, -2, 0.0, NAN};
  std::memcpy(c.data(), parts, sizeof(parts));
  const Tensor copy = map(DType::c128, {c}, [](Builder&, const auto& v) { return v[0]; });
  EXPECT_EQ(std::memcmp(copy.data(), parts, sizeof(parts)), 0);
  const Tensor equal = map(DType::boolean, {c, copy},
                           [](Builder&, const auto& v) { return v[0] == v[1]; });
  EXPECT_TRUE(equal.data_as<bool>()[0]);
  EXPECT_FALSE(equal.data_as<bool>()[1]);
}

TEST(Ops, lowest_and_highest) {
  const auto bits = [](DType t, bool high) {
    Builder b("range");
    const auto y = b.buffer({"y", t, Access::out, {}});
    b.store(y, {}, high ? highest(b, t) : lowest(b, t));
    const Tensor out = Tensor::zeros(t, {});
    EXPECT_EQ(interpreted(b.finish(), {out}), done);
    std::uint64_t word = 0;
    std::memcpy(&word, out.data(), byte_size(t));
    return word;
  };
  EXPECT_EQ(bits(DType::i8, false), 0x80u);
  EXPECT_EQ(bits(DType::i8, true), 0x7fu);
  EXPECT_EQ(bits(DType::u64, true), ~std::uint64_t{0});
  EXPECT_EQ(bits(DType::u16, false), 0u);
  EXPECT_EQ(bits(DType::i4, false), 0xf8u);
  EXPECT_EQ(bits(DType::u2, true), 3u);
  EXPECT_EQ(bits(DType::f32, false), 0xff800000u);
  EXPECT_EQ(bits(DType::f16, true), 0x7c00u);
  EXPECT_EQ(bits(DType::f8e4m3fn, false), 0xfeu);
  EXPECT_EQ(bits(DType::f8e5m2, true), 0x7cu);
  EXPECT_EQ(bits(DType::boolean, true), 1u);
}

}  // namespace
}  // namespace rondel::scalar
