// Proofs that an integer is at most 0, from facts about the names in it.
#include "lowering/extent_proof.h"

#include "ir/cursor.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace rondel::lowering {
namespace {

using ir::Integer;
using ir::Symbol;

Integer parsed(const std::string& text) { return ir::Cursor("f32[" + text + "]").type().extent(0); }
Symbol name(const std::string& n) { return Symbol::named(n); }

/// By name.
using Facts = std::map<std::string, std::vector<Fact>>;

bool proves(const Integer& a, const Integer& b, const Facts& facts) {
  return certainly_at_most(a, b, [&](Symbol n) {
    const auto at = facts.find(n.name());
    return at == facts.end() ? std::vector<Fact>() : at->second;
  });
}
bool proves(const std::string& a, const std::string& b, const Facts& facts = {}) {
  return proves(parsed(a), parsed(b), facts);
}
Fact at_most(const std::string& a, const std::vector<std::string>& largest_of) {
  ir::Integers all;
  for (const std::string& b : largest_of) all.push_back(parsed(b));
  return at_most_largest(parsed(a), all);
}

TEST(ExtentProof, NamesAreNotNegative) {
  EXPECT_TRUE(proves("a", "a + b"));
  EXPECT_TRUE(proves("a", "a + a * b"));
  EXPECT_FALSE(proves("a + 1", "a + b"));
  EXPECT_FALSE(proves("a", "a * b"));
}

TEST(ExtentProof, RemaindersAreAtMostTheirDividends) {
  const std::string others = "max(divisor - 1, 0)", quotient = "(6 / (" + others + " + 1))";
  const std::string remainder = "max(6 - " + quotient + " - " + quotient + " * " + others + ", 0)";
  EXPECT_TRUE(proves(remainder, "6"));
  EXPECT_FALSE(proves(remainder, "4"));
  // So are the trips of a loop, whatever else is known of the divisor.
  Facts facts{{"rows", {at_most("rows", {"4 * trip"})}},
              {"trip", {at_most("trip", {remainder + " - 1"})}}};
  EXPECT_TRUE(proves("rows", "20", facts));
  facts["divisor"] = {at_most("divisor", {"3"})};
  EXPECT_TRUE(proves("rows", "20", facts));
}

TEST(ExtentProof, EachMaximumIsOneOfTwo) {
  EXPECT_TRUE(proves("max(a, b)", "a + b"));
  EXPECT_TRUE(proves("max(a + b - max(b, 2), 0)", "a"));
  EXPECT_FALSE(proves("max(a, b)", "a"));
  EXPECT_FALSE(proves("a + 1", "max(a, b)"));
}

TEST(ExtentProof, AMaximumMayBeTooFarFromWhatItIsTheMaximumOf) {
  // All rows of a first list but one, and those of a second; of these, the last one.
  const std::string first = "$rows_of_the_first_list", rows = "$rows_of_the_second_list + max(" +
                                                              first + " - max(" + first +
                                                              " - 2147483648, 0) - 1, 0)";
  const Integer all = parsed(rows), before = parsed("max(" + rows + " - 1, 0)"),
                beyond = parsed("max(" + rows + " - 2147483648, 0)"), last = all - before - beyond;
  ASSERT_TRUE(ir::max(last, 0).symbolic());
  ASSERT_FALSE((ir::max(last, 0) - last).known_or_symbolic());
  EXPECT_TRUE(proves(ir::max(last, 0), all, {}));
  EXPECT_FALSE(proves(ir::max(last, 0), all - 1, {}));
}

TEST(ExtentProof, ConstantsNearTheEndOf64BitsAddUp) {
  // The rows from m0 to m1 of a stack of at most min(s0, 2^63 - 2) + 1 rows.
  const std::string rows = "$s0 - max($s0 - 9223372036854775806, 0) + 1";
  const Facts facts{{"m0", {at_most("$m0", {rows})}}, {"m1", {at_most("$m1", {rows})}}};
  EXPECT_TRUE(proves("-$m0 + $m1 + max($m0 - $m1, 0)", rows, facts));
  EXPECT_FALSE(proves("$m0 + $m1", rows, facts));
}

TEST(ExtentProof, CoefficientsNearTheEndOf64BitsAddUp) {
  // All rows of a state but the first, and a state that grows by s rows in each of at most 2^63 - 2
  // trips.
  const std::string room = "2 * s + s * n - s * max(n - 9223372036854775806, 0)";
  const Facts facts{{"now", {at_most("now", {"s"})}}};
  EXPECT_TRUE(proves("max(now - max(now - 2147483648, 0) - 1, 0)", room, facts));
  EXPECT_TRUE(proves("2 * now", room, facts));
  EXPECT_FALSE(proves("2 * now + 1", room, facts));
}

TEST(ExtentProof, OneOfTheListsOfAFactHolds) {
  const Facts facts{{"a", {at_most("a", {"b", "c"})}}};
  EXPECT_TRUE(proves("a", "b + c", facts));
  EXPECT_TRUE(proves("a", "max(b, c)", facts));
  EXPECT_FALSE(proves("a", "b", facts));
}

TEST(ExtentProof, AllFactsHold) {
  const Facts facts{{"a", {at_most("a", {"b"}), at_most("a", {"c"})}}};
  EXPECT_TRUE(proves("2 * a", "b + c", facts));
  EXPECT_FALSE(proves("2 * a + 1", "b + c", facts));
}

TEST(ExtentProof, FactsHoldInProducts) {
  const Facts facts{{"a", {at_most("a", {"b - 1"})}}, {"n", {at_most("n", {"3"})}}};
  EXPECT_TRUE(proves("a * n + n", "3 * b", facts));
  EXPECT_FALSE(proves("a * n + n + 1", "3 * b", facts));
  EXPECT_TRUE(proves("a * n * n + n * n", "9 * b", facts));
}

TEST(ExtentProof, EachFactorIsAtMostANumber) {
  // Counts of rows, at most what trip % 4 is: the products of what they are made of are many.
  const std::string rest = "t - 4 * (t / 4)";
  const Facts facts{{"m", {at_most("m", {"s - max(s - (" + rest + "), 0)"})}},
                    {"n", {at_most("n", {rest})}}};
  EXPECT_TRUE(proves("m * n", "9", facts));
  EXPECT_FALSE(proves("m * n", "8", facts));
}

TEST(ExtentProof, EachFactorIsAtMostOneOfTheOther) {
  const Facts facts{{"h", {at_most("h", {"(n + 1) / 2", "n"})}},
                    {"g", {at_most("g", {"(k + 1) / 2"})}}};
  EXPECT_TRUE(proves("h", "n", facts));
  EXPECT_TRUE(proves("m * h", "m * n", facts));
  EXPECT_TRUE(proves("g * h", "n * k", facts));
  EXPECT_FALSE(proves("g * h", "n * n", facts));
  EXPECT_FALSE(proves("m * m * h", "m * n", facts));
}

/// A part of what has been joined so far, joined with it: too many inequalities for the sum alone.
TEST(ExtentProof, EachTermIsAtMostItsShare) {
  const Facts facts{
      {"room", {at_most("1", {"room"})}},
      {"trip", {at_most("trip", {"room - 1"}), at_most("trip", {"n - 1"})}},
      {"before", {at_most("before", {"room - 1"}), at_most("before", {"n - 1"})}},
      {"part",
       {at_most("part", {"trip - max(trip - all, 0)"}),
        at_most("trip - max(trip - all, 0)", {"part"})}},
      {"all", {at_most("all", {"n + n * trip"}), at_most("all", {"n + trip * before"})}}};
  EXPECT_TRUE(proves("part + all", "2 * room * n + 2 * n", facts));
  EXPECT_FALSE(proves("part + all + all", "room * n + n", facts));
}

TEST(ExtentProof, QuotientsAreRoundedDown) {
  EXPECT_TRUE(proves("2 * (a / 2)", "a"));
  EXPECT_TRUE(proves("a", "2 * ((a + 1) / 2)"));
  EXPECT_FALSE(proves("a", "2 * (a / 2)"));
  EXPECT_TRUE(proves("a / (b + 1)", "a"));
}

TEST(ExtentProof, QuotientsFollowTheirDividendsAndDivisors) {
  const Facts facts{{"last", {at_most("last", {"2 * n + 3"})}}, {"b", {at_most("b", {"n + 3"})}}};
  EXPECT_TRUE(proves("last / (n + 3)", "(2 * n + 3) / (n + 3)", facts));
  EXPECT_TRUE(proves("k * (last / (n + 3))", "k * ((2 * n + 4) / (n + 3))", facts));
  EXPECT_TRUE(proves("last / (n + 4)", "(2 * n + 3) / (b + 1)", facts));
  EXPECT_FALSE(proves("last / (n + 3)", "(2 * n + 2) / (n + 3)", facts));
  EXPECT_FALSE(proves("last / (b + 1)", "(2 * n + 3) / (n + 4)", facts));
}

TEST(ExtentProof, MultiplesAreRoundedDownAlike) {
  const Facts facts{{"i", {at_most("i", {"n - 1"})}}};
  EXPECT_TRUE(proves("7 * (i / 7)", "7 * (n / 7)", facts));
  // x[i % 7 : i] of a list of length t.
  EXPECT_TRUE(proves("max(min(t, i) - i + 7 * (i / 7), 0)", "7 * (n / 7)", facts));
  EXPECT_FALSE(proves("max(min(t, i) - i + 7 * (i / 7) + 1, 0)", "7 * (n / 7)", facts));
}

TEST(ExtentProof, AMultipleOfAQuotientMayBeTooDeep) {
  const Facts facts{{"m", {at_most("m", {"5"})}}};
  // Every second of the last one of all but one of x[s:m].
  const Integer part = parsed("max(m - s, 0)"),
                rest = ir::max(part - parsed("max(max(m - s, 0) - 2147483648, 0)") - 1, 0),
                last = ir::max(rest - ir::max(rest - 1, 0), 0), half = ir::floor_div(last + 1, 2);
  ASSERT_TRUE(half.known_or_symbolic());
  ASSERT_FALSE((2 * half).known_or_symbolic());
  EXPECT_TRUE(proves(half, Integer(1), facts));
  EXPECT_TRUE(proves(half, parsed("max(5 - s, 0)"), facts));
  EXPECT_FALSE(proves(half, parsed("max(4 - s, 0)") - 1, facts));
}

TEST(ExtentProof, ThePartOfAStateFromItsEndHasRoom) {
  const Facts facts{{"part", {at_most("part", {"max(min(trip, now) - max(now - 2, 0), 0)"})}},
                    {"trip", {at_most("trip", {"trips - 1"})}},
                    {"now", {at_most("now", {"first", "1"})}}};
  EXPECT_TRUE(proves("3 * part", "3 * min(trips, min(max(first - 1, 0), 1) + 1)", facts));
  EXPECT_FALSE(proves("3 * part", "3 * min(trips, min(max(first - 1, 0), 1) + 1) - 1", facts));
}

TEST(ExtentProof, APartOfAPartOfAPartHasRoom) {
  const Facts facts{
      {"p", {at_most("p", {"t"})}}, {"q", {at_most("q", {"t"})}}, {"r", {at_most("r", {"u"})}}};
  const std::string left = "max(r + s - max(p - q + 2 * r + s - max(p - q, 0), 0), 0)";
  EXPECT_TRUE(proves(left + " - r + max(r - " + left + ", 0)",
                     "s - max(s - t, 0) + max(u + max(s - t, 0) - "
                     "max(2 * s - t + u - max(s - t, 0), 0), 0)",
                     facts));
}

// A state that each trip makes longer by what an earlier trip number leaves when divided by 4.
TEST(ExtentProof, RemaindersOfTripsAddUp) {
  const Facts facts{{"state",
                     {at_most("state", {"first + trip * trip"}),
                      at_most("state", {"first + trip * other - 4 * trip * (other / 4)"})}},
                    {"trip", {at_most("trip", {"trips - 1"})}},
                    {"other", {at_most("other", {"trips - 1"})}}};
  EXPECT_TRUE(proves("state", "first + trips * trips", facts));
  EXPECT_FALSE(proves("state", "first + trips", facts));
}

// The elements of what one of two branches gives, which have two extents each.
TEST(ExtentProof, ProductsOfMaximaHaveRoomForAllCases) {
  const Facts facts{{"v", {Fact{at_most("v", {"a"})[0], at_most("v", {"2"})[0]}}},
                    {"w", {Fact{at_most("w", {"m"})[0], at_most("w", {"3"})[0]}}},
                    {"m", {at_most("m", {"b"})}}};
  EXPECT_TRUE(proves("v * w",
                     "2 * max(b - 3, 0) + max(b - 3, 0) * max(a - 2, 0) + "
                     "3 * max(a - 2, 0) + 6",
                     facts));
}

// The last three elements of a state and of a list of s elements.
TEST(ExtentProof, ThePartOfAStateAndAListHasRoom) {
  const auto last = [](const std::string& all) {
    return fmt::format("max({0} - max({0} - 2147483648, 0) - max({0} - 3, 0), 0)", all);
  };
  for (const std::string first : {"s", "max(s - max(s - trips, 0) - max(s - 2, 0), 0)"}) {
    const std::string room = first + " + trip * " + last("s");
    const Facts facts{{"now", {at_most("now", {room})}},
                      {"trip", {at_most("trip", {"trips - 1"})}}};
    EXPECT_TRUE(proves(last("s + now"), room + " + " + last("s"), facts)) << first;
    EXPECT_FALSE(proves(last("s + now"), room, facts)) << first;
  }
}

TEST(ExtentProof, OfSeveralBoundsTheLargestOnesCount) {
  EXPECT_EQ(at_most("m", {"a", "a + 1", "a"}).size(), 1U);
  EXPECT_EQ(at_most("m", {"a", "b"}).size(), 2U);
}

TEST(ExtentProof, ProductsOfHalvesAreAtMostThoseOfTheLargestNames) {
  const auto half = [](const std::string& e) { return "(max((" + e + ") / 2 - 1, 0) + 1)"; };
  const std::string halves = half("rows") + " * " + half("columns");
  const Facts numbers{{"rows", {at_most("rows", {"7"})}}, {"columns", {at_most("columns", {"5"})}}};
  EXPECT_TRUE(proves(halves, "6", numbers));
  EXPECT_FALSE(proves(halves, "5", numbers));
  const std::string least_1 = "max(n - 1, 0) + 1";
  const Facts names{{"rows", {at_most("rows", {"n", "1"})}},
                    {"columns", {at_most("columns", {least_1})}}};
  EXPECT_TRUE(proves(half("columns") + " * " + half("columns"),
                     half(least_1) + " * " + half(least_1), names));
  EXPECT_FALSE(
      proves(half("rows") + " * " + half("columns"), half("n - 2") + " * " + half("n"), names));
}

TEST(ExtentProof, TheSidesMayBeTooLongForTheirDifference) {
  Integer a = 0, b = 0;
  for (const char k : {'a', 'b', 'c', 'd', 'e'}) {
    const Integer x(name(std::string("first_extent_") + k)), y(name(std::string("other_") + k));
    a = a + ir::min(x, y + 1000000000001);
    b = b + x + ir::max(y - 1000000000003, 0);
  }
  ASSERT_TRUE(a.symbolic() && b.symbolic());
  ASSERT_FALSE((a - b).known_or_symbolic());
  EXPECT_TRUE(proves(a, b, {}));
}

/// A claim and facts about three small numbers, at random, and what holds for certain numbers.
class Claims {
 public:
  explicit Claims(unsigned seed) : random_(seed) {}

  Integer integer(int depth) {
    if (depth == 0 || pick(5) == 0) return pick(3) == 0 ? Integer(pick(4)) : any_name();
    const Integer x = integer(depth - 1), y = integer(depth - 1);
    switch (pick(6)) {
      case 0: return x + y;
      case 1: return x - y;
      case 2: return ir::max(x, y);
      case 3: return ir::min(x, y);
      case 4: return x * any_name();
      default: return ir::floor_div(x, 1 + pick(3));
    }
  }
  Facts facts() {
    Facts all;
    for (const char* n : {"a", "b", "c"})
      for (std::int64_t k = pick(3); k > 0; --k) {
        ir::Integers bounds;
        for (std::int64_t i = pick(2); i >= 0; --i) bounds.push_back(integer(1));
        all[n].push_back(at_most_largest(Integer(name(n)), bounds));
      }
    return all;
  }

 private:
  Integer any_name() { return Integer(name(std::string(1, static_cast<char>('a' + pick(3))))); }
  std::int64_t pick(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<unsigned>(n));
  }
  std::mt19937 random_;
};

/// Whether it is so for these numbers; also if an integer is unknown.
bool holds(const AtMost& claim, const ir::ValueOfName& numbers) {
  const auto a = ir::evaluate(claim.a, numbers), b = ir::evaluate(claim.b, numbers);
  return !a || !b || claim.times_a * *a <= claim.times_b * *b;
}
bool holds(const Facts& facts, const ir::ValueOfName& numbers) {
  const auto list_holds = [&](const std::vector<AtMost>& list) {
    return std::ranges::all_of(list, [&](const AtMost& claim) { return holds(claim, numbers); });
  };
  for (const auto& [n, of_name] : facts)
    for (const Fact& fact : of_name)
      if (!std::ranges::any_of(fact, list_holds)) return false;
  return true;
}

TEST(ExtentProof, WhatIsProvedHolds) {
  int proved = 0, wrong = 0, facts_alone = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Claims claims(seed);
    const Integer a = claims.integer(3), b = claims.integer(2);
    const Facts facts = claims.facts();
    bool always = true;
    for (std::int64_t k = 0; k < 6 * 6 * 6; ++k) {
      const auto numbers = [&](Symbol n) {
        return std::optional(n == name("a") ? k % 6 : n == name("b") ? k / 6 % 6 : k / 36);
      };
      always = always && (!holds(facts, numbers) || holds(AtMost{a, b}, numbers));
    }
    const bool is_proved = proves(a, b, facts);
    EXPECT_TRUE(always || !is_proved) << seed << ": " << to_text(a) << " <= " << to_text(b);
    proved += is_proved ? 1 : 0;
    wrong += always ? 0 : 1;
    facts_alone += is_proved && !proves(a, b, {}) ? 1 : 0;
  }
  EXPECT_GT(proved, 50);
  EXPECT_GT(wrong, 100);
  EXPECT_GT(facts_alone, 20);
}

}  // namespace
}  // namespace rondel::lowering
