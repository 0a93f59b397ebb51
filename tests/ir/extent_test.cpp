#include "ir/extent.h"

#include "ir/cursor.h"
#include "ir/text.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <thread>

namespace rondel::ir {
namespace {

Integer name(const char* n) { return Integer(Symbol::named(n)); }
const Integer a = name("a"), b = name("b"), c = name("c");

Integer parsed(const std::string& text) { return Cursor("f32[" + text + "]").type().extent(0); }

/// A symbolic expression and its expected value.
struct Both {
  Integer symbolic;
  std::optional<__int128> number;
};

class Expressions {
 public:
  Expressions(unsigned seed, std::map<std::string, std::int64_t> names)
      : random_(seed), names_(std::move(names)) {}

  Both make(int depth) {
    if (depth == 0 || pick(6) == 0) return leaf();
    const Both x = make(depth - 1);
    switch (pick(8)) {
      case 0: {
        const auto by = static_cast<std::int64_t>(1 + pick(5));
        return {floor_div(x.symbolic, by), both(x, {0, by}, divide)};
      }
      case 1: {
        const auto by = static_cast<std::int64_t>(1 + pick(5));
        return {ceil_div(x.symbolic, by),
                both(x, {0, by}, [](__int128 p, __int128 q) { return divide(p + q - 1, q); })};
      }
      default: break;
    }
    const Both y = make(depth - 1);
    switch (pick(6)) {
      case 0: return {x.symbolic - y.symbolic, both(x, y, std::minus<>())};
      case 1: return {x.symbolic * y.symbolic, both(x, y, std::multiplies<>())};
      case 2:
        return {max(x.symbolic, y.symbolic),
                both(x, y, [](__int128 p, __int128 q) { return std::max(p, q); })};
      case 3:
        return {min(x.symbolic, y.symbolic),
                both(x, y, [](__int128 p, __int128 q) { return std::min(p, q); })};
      case 4: return {floor_div(x.symbolic, y.symbolic), both(x, y, divide)};
      default: return {x.symbolic + y.symbolic, both(x, y, std::plus<>())};
    }
  }

 private:
  static __int128 divide(__int128 p, __int128 q) {
    if (q == 0) return 0;
    return p / q - (p % q != 0 && (p < 0) != (q < 0) ? 1 : 0);
  }
  static std::optional<__int128> both(const Both& x, const Both& y, const auto& f) {
    if (!x.number || !y.number) return std::nullopt;
    const __int128 result = f(*x.number, *y.number);
    if (result > (__int128{1} << 40) || result < -(__int128{1} << 40)) return std::nullopt;
    return result;
  }
  unsigned pick(unsigned count) { return static_cast<unsigned>(random_() % count); }
  Both leaf() {
    if (pick(3) == 0) {
      const auto v = static_cast<std::int64_t>(pick(9)) - 2;
      return {v, v};
    }
    auto it = names_.begin();
    std::advance(it, pick(static_cast<unsigned>(names_.size())));
    return {name(it->first.c_str()), it->second};
  }

  std::mt19937 random_;
  std::map<std::string, std::int64_t> names_;
};

TEST(Extent, EqualComputationsAreEqualSymbols) {
  EXPECT_EQ(a + b, b + a);
  EXPECT_EQ(a + b - b, a);
  EXPECT_EQ((a + 1) * (a - 1), a * a - 1);
  EXPECT_EQ(a - a, Integer(0));
  EXPECT_EQ(floor_div(a * 6 + 4, 2), a * 3 + 2);
  EXPECT_EQ(floor_div(a * 6 + 3, 4), a + floor_div(a * 2 + 3, 4));
  EXPECT_EQ(floor_div(floor_div(a, 2), 3), floor_div(a, 6));
  EXPECT_EQ(floor_div(a * 4 + 2, 6), floor_div(a * 2 + 1, 3));
  EXPECT_EQ(ceil_div(a, 1), a);
  EXPECT_EQ(max(a, b), max(b, a));
  EXPECT_EQ(min(a, b), min(b, a));
  EXPECT_EQ(max(a, b) + min(a, b), a + b);
  EXPECT_EQ(max(a + 2, b + 2), max(a, b) + 2);
  EXPECT_EQ(min(a, INT64_MAX), a);
  EXPECT_EQ(max(a, 0), a);
  EXPECT_EQ(max(a, -3), a);
  EXPECT_EQ(max(min(a, 3), 0), min(a, 3));
  EXPECT_EQ(a - max(a - 3, 0), min(a, 3));
  EXPECT_EQ(floor_div(a * 4 * b, a * 2), floor_div(a * b * 2, a));
  EXPECT_EQ(floor_div(min(a, 3), 4), Integer(0));
}

TEST(Extent, WhatMayDifferIsNotEqual) {
  EXPECT_FALSE(a == b);
  EXPECT_FALSE(a + 1 == a);
  EXPECT_FALSE(Integer() == Integer());
  EXPECT_FALSE(Extent() == Extent());
  EXPECT_FALSE(floor_div(a * b, b) == a) << "of nothing, 0";
  EXPECT_FALSE(floor_div(b, b) == Integer(1));
  EXPECT_FALSE(max(a - 1, 0) == a - 1);
}

TEST(Extent, UnknownInUnknownOut) {
  const Integer unknown, far = Integer(INT64_MAX);
  for (const Integer& i : {unknown + a, a - unknown, unknown * 0, floor_div(unknown, 2),
                           max(unknown, a), min(3, unknown), far + 1, far * 2, far * a * 2})
    EXPECT_FALSE(i.known() || i.symbolic()) << to_text(i);
  Integer wide = 0;
  for (int i = 0; i < 100; ++i) wide = wide + name(("wide" + std::to_string(i)).c_str());
  EXPECT_FALSE(wide.symbolic());
}

TEST(Extent, Bounds) {
  EXPECT_TRUE(a.at_least(0));
  EXPECT_FALSE(a.at_least(1));
  EXPECT_TRUE((a + 2).at_least(2));
  EXPECT_FALSE((a - 1).at_least(0));
  EXPECT_FALSE((a - b).at_least(0));
  EXPECT_TRUE(max(a - 1, 0).at_least(0));
  EXPECT_TRUE((a - min(a, b)).at_least(0));
  EXPECT_TRUE((a - floor_div(a, 2)).at_least(0));
  EXPECT_TRUE(min(a, 4).at_most(4));
  EXPECT_TRUE((a * b).at_least(0));
  EXPECT_TRUE(ceil_div(a, 3).at_least(0));
  EXPECT_TRUE(floor_div(a, b).at_least(0));
}

TEST(Extent, Text) {
  EXPECT_EQ(to_text(a + b * 2 - 3), "a + 2 * b - 3");
  EXPECT_EQ(to_text(Integer(5) - a), "-a + 5");
  EXPECT_EQ(to_text(floor_div(a + 1, 2)), "(a + 1) / 2");
  EXPECT_EQ(to_text(floor_div(a, 2) * -3), "-3 * (a / 2)");
  EXPECT_EQ(to_text(max(a - 3, 0)), "max(a - 3, 0)");
  EXPECT_EQ(to_text(a * b), "a * b");
  EXPECT_EQ(to_text(Integer(Symbol::own("v12.0")) + 1), "$v12.0 + 1");
  EXPECT_EQ(to_text(name("N+1") + 1), "\"N+1\" + 1");
  EXPECT_EQ(to_text(Integer()), "?");
}

TEST(Extent, NamesOfModelsAreNotOurs) {
  EXPECT_FALSE(name("v12.0") == Integer(Symbol::own("v12.0")));
  EXPECT_FALSE(name("$v12.0") == Integer(Symbol::own("v12.0")));
  EXPECT_FALSE(name("a + 1") == a + 1);
  EXPECT_FALSE(name("max(a, 0)") == max(a, 0));
  for (const Integer& i : {name("v12.0"), name("$v12.0"), name("a + 1"), name("max"), name("7"),
                           Integer(Symbol::own("v12.0")), name("max(a, 0)") + a})
    EXPECT_EQ(parsed(to_text(i)), i) << to_text(i);
}

TEST(Extent, ReadsOtherWaysToWrite) {
  EXPECT_EQ(parsed("max(a, b)"), max(a, b));
  EXPECT_EQ(parsed("min(a, 3)"), min(a, 3));
  EXPECT_EQ(parsed("2*(a + b)/2"), a + b);
  EXPECT_EQ(parsed("4 / 2"), Integer(2));
  EXPECT_EQ(Cursor("f32[a + 1, ?, 4 // two\n]").type().rank(), 3);
  for (const char* bad : {"a +", "max(a)", "(a", "-a + ", "2 - 3", "9223372036854775808", "$",
                          "\"\"", "9223372036854775807 * a * 2", "a b"})
    EXPECT_THROW(parsed(bad), Error) << bad;
}

TEST(Extent, NamesInIt) {
  const auto names = (a + floor_div(max(b - c, 0), 2) * a).symbol.names();
  EXPECT_EQ(std::vector(names.begin(), names.end()), (std::vector{a.symbol, b.symbol, c.symbol}));
  EXPECT_EQ(a.symbol.names().size(), 1U);
}

TEST(Extent, EvaluateSaysNothingBeyond64Bits) {
  const auto all = [](std::int64_t v) { return [v](Symbol) { return std::optional(v); }; };
  EXPECT_EQ(evaluate(a * b, all(1LL << 40)), std::nullopt);
  EXPECT_EQ(evaluate(a * b, all(1LL << 30)), 1LL << 60);
  EXPECT_EQ(evaluate(Extent(a - 3), all(2)), std::nullopt);
  EXPECT_EQ(evaluate(a, [](Symbol) { return std::optional<std::int64_t>(); }), std::nullopt);
}

TEST(Extent, QuotientsByLargeNumbersHaveNoLargerPartsThanTheDividend) {
  const auto value = [](Symbol s) { return std::optional<std::int64_t>(s == a.symbol ? 5 : 4); };
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t by : {std::int64_t{1} << 40, std::int64_t{1} << 62, most}) {
    EXPECT_EQ(evaluate(ceil_div(a - b, by), value), 1);
    EXPECT_EQ(evaluate(ceil_div(a + b, by), value), 1);
    EXPECT_EQ(evaluate(ceil_div(b - a, by), value), 0);
    EXPECT_EQ(evaluate(floor_div(a - b, by), value), 0);
    EXPECT_EQ(evaluate(floor_div(b - a, by), value), -1);
  }
}

TEST(Extent, RandomExpressionsAreWhatTheySay) {
  const unsigned first = std::random_device()();
  int compared = 0;
  for (unsigned seed = first; seed != first + 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::map<std::string, std::int64_t> values;
    for (const char* n : {"a", "b", "c"}) values[n] = static_cast<std::int64_t>(random() % 9);
    const Both e = Expressions(seed, values).make(4);
    if (!e.symbolic.known() && !e.symbolic.symbolic()) continue;
    const auto value = evaluate(e.symbolic,
                                [&](Symbol s) { return std::optional(values.at(s.name())); });
    if (e.number) {
      ASSERT_TRUE(value) << to_text(e.symbolic);
      ASSERT_EQ(*value, static_cast<std::int64_t>(*e.number)) << to_text(e.symbolic);
      ++compared;
    }
    if (value && e.symbolic.symbolic()) {
      const Integer i = e.symbolic;
      for (std::int64_t bound = *value + 1; bound < *value + 3; ++bound)
        ASSERT_FALSE(i.at_least(bound)) << to_text(i);
      for (std::int64_t bound = *value - 2; bound < *value; ++bound)
        ASSERT_FALSE(i.at_most(bound)) << to_text(i);
      ASSERT_EQ(parsed(to_text(i)), i) << to_text(i);
    }
  }
  EXPECT_GT(compared, 1500);
}

TEST(Extent, ManyThreadsInternOneSymbol) {
  std::vector<Integer> made(8);
  std::vector<std::thread> threads;
  for (Integer& m : made)
    threads.emplace_back([&m] {
      Integer sum = 0;
      for (int i = 0; i < 8; ++i) sum = sum + name(("shared" + std::to_string(i)).c_str()) * i;
      m = floor_div(sum, 3);
    });
  for (std::thread& t : threads) t.join();
  for (const Integer& m : made) EXPECT_EQ(m, made[0]);
}

}  // namespace
}  // namespace rondel::ir
