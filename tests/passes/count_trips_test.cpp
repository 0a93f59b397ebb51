// Conditions that compare a linear function of the trip index with an invariant become trip counts.
#include "passes/count_trips.h"

#include "passes/pass_case.h"
#include "passes/remove_dead.h"

#include <gmock/gmock.h>

namespace rondel::passes {
namespace {

using ::testing::HasSubstr;

/// Without the nodes that only the condition reads.
bool counted(ir::Graph& g) {
  const bool changed = count_trips(g);
  return remove_dead(g) || changed;
}

constexpr const char* inputs =
    "%x: f32[2], %n: i64[], %s: i64[], %m: i64[], %h: i32[], %b: i8[], %c: bool[], %v: i64[1]";
constexpr const char* constants = R"(
    %yes = constant value=bool[] {true}
    %zero = constant value=i64[] {0}
    %one = constant value=i64[] {1}
    %h1 = constant value=i32[] {1}
    %b1 = constant value=i8[] {1}
    %none = constant value=i64[0] {})";

/// A loop after some nodes; `body` computes %on.
std::string loop(const std::string& before, const std::string& limits, const std::string& body,
                 const std::string& on = "%on") {
  return std::string("graph \"g\" (") + inputs + ") {" + constants + before +
         "\n    %y, _ = loop " + limits +
         " states=(%x) { body(%i, %go, %a) {\n      %r = neg(%a)\n      " + body +
         "\n      yield go=" + on + " states=(%r) } }\n    yield %y }";
}

void expect_count(const std::string& loop_before, const std::string& before,
                  const std::string& limits, const std::string& body = "",
                  const std::string& on = "%go") {
  ir::Graph wanted = ir::parse(loop(before, limits, body, on));
  remove_dead(wanted);
  expect_rewrite(counted, loop_before, ir::to_text(wanted));
}

void expect_stays(const std::string& graph) { expect_untouched(count_trips, graph); }

/// The count of a loop whose first trip is not tested.
const std::string at_least_one = "%#0 = constant value=i64[] {1} %#1 = max(%n, %#0) ";
constexpr const char* next_is_less = "%j = add(%i, %one) %on = less(%j, %n)";

TEST(CountTrips, TheSameTestBeforeTheLoop) {
  expect_count(loop("%d = less(%zero, %n)", "go=%d", next_is_less), "", "trips=%n");
  expect_count(loop("%d = greater(%n, %zero)", "go=%d", next_is_less), "", "trips=%n");
  expect_count(
      loop("%d = less(%s, %n)", "go=%d", "%k = add(%i, %s) %j = add(%k, %one) %on = less(%j, %n)"),
      R"(%#0 = max(%n, %s)
    %#1 = sub(%#0, %s)
    %#2 = constant value=i64[] {0}
    %#3 = less(%#1, %#2)
    %#4 = constant value=i64[] {9223372036854775807}
    %#5 = where(%#3, %#4, %#1))",
      "trips=%#5");
}

TEST(CountTrips, TheFirstTripIsNotTested) {
  expect_count(loop("", "go=%yes", next_is_less), at_least_one, "trips=%#1");
  expect_count(loop("", "go=%yes", "%on = less(%i, %n)"),
               R"(%#0 = constant value=i64[] {-1}
    %#1 = max(%n, %#0)
    %#2 = constant value=i64[] {9223372036854775806}
    %#3 = min(%#1, %#2)
    %#4 = constant value=i64[] {-1}
    %#5 = sub(%#3, %#4)
    %#6 = constant value=i64[] {1}
    %#7 = max(%#5, %#6))",
               "trips=%#7");
}

TEST(CountTrips, AnotherTestBeforeTheLoop) {
  const std::string where = "%#2 = constant value=i64[] {0} %#3 = where(%d, %#1, %#2)";
  for (const std::string first :
       {"%d = less_or_equal(%zero, %n)", "%d = less(%one, %n)", "%d = less(%zero, %m)",
        "%d = less(%n, %zero)", "%e = greater(%n, %one) %d = not(%e)", "%d = and(%c, %c)"})
    expect_count(loop(first, "go=%d", next_is_less), first + at_least_one + where, "trips=%#3");
}

TEST(CountTrips, TheLeastOfSeveral) {
  expect_count(loop("%d = less(%zero, %n)", "trips=%m go=%d", next_is_less), "%#0 = min(%m, %n)",
               "trips=%#0");
  expect_count(loop("%p = less(%zero, %n) %q = less(%zero, %s) %d = and(%q, %p)", "go=%d",
                    "%j = add(%i, %one) %e = less(%j, %n) %f = less(%j, %s) %on = and(%e, %f)"),
               "%#0 = min(%n, %s)", "trips=%#0");
  expect_count(loop("%d = less(%zero, %n)", "go=%d",
                    "%j = add(%i, %one) %e = less(%j, %n) %f = less(%j, %s) %on = and(%e, %f)"),
               "%#0 = constant value=i64[] {1} %#1 = max(%s, %#0) %#2 = min(%n, %#1)", "trips=%#2");
}

TEST(CountTrips, ConditionsThatNeverEndTheLoop) {
  expect_count(loop("", "trips=%m go=%yes", "", "%go"), "", "trips=%m");
  expect_count(loop("", "trips=%m go=%c", "%on = and(%go, %go)"),
               "%#0 = constant value=i64[] {0} %#1 = where(%c, %m, %#0)", "trips=%#1");
  expect_stays(loop("", "go=%c", "", "%go"));
  expect_stays(loop("", "trips=%m", "", "%go"));
}

TEST(CountTrips, WhatComesFromDataStays) {
  const std::string data =
      "%w = reduce_sum(%r) keepdims=0 %f = constant value=f32[] {3} %p = less(%w, %f) ";
  for (const std::string both :
       {"%on = and(%p, %e)", "%k = not(%e) %l = not(%p) %q = or(%k, %l) %on = not(%q)",
        "%q = and(%e, %go) %on = and(%q, %p)"})
    expect_count(loop("", "go=%c", data + "%j = add(%i, %one) %e = less(%j, %n) " + both),
                 at_least_one, "trips=%#1 go=%c", data, "%p");
  expect_count(loop("", "go=%c",
                    data + "%j = add(%i, %one) %e = less(%j, %n) %q = not(%p) %on = and(%q, %e)"),
               at_least_one, "trips=%#1 go=%c", data + "%#2 = not(%p)", "%#2");
  expect_stays(loop("", "go=%c", data + "%j = add(%i, %one) %e = less(%j, %n) %on = or(%p, %e)"));
  expect_stays(loop("", "trips=%m go=%yes", data, "%p"));
}

TEST(CountTrips, Spellings) {
  const std::string first = "%d = less(%zero, %n) ";
  for (const std::string body :
       {"%j = add(%i, %one) %on = greater(%n, %j)",
        "%j = add(%one, %i) %e = less_or_equal(%n, %j) %on = not(%e)",
        "%j = sub(%i, %one) %k = add(%j, %one) %l = add(%k, %one) %on = less(%l, %n)",
        "%j = add(%i, %one) %ones = constant value=i64[1] {1} %k = reshape(%j, %ones) %e = "
        "less(%k, %n) "
        "%on = reshape(%e, %none)",
        "%t = constant value=i64[] {2} %k = mul(%i, %t) %j = sub(%k, %i) %l = add(%j, %one) %on = "
        "less(%l, %n)",
        "%w = add(%n, %one) %j = add(%i, %one) %v1 = sub(%w, %one) %on = less(%j, %v1)"})
    EXPECT_THAT(ir::to_text([&] {
                  ir::Graph g = ir::parse(loop(first, "go=%d", body));
                  EXPECT_TRUE(counted(g));
                  return g;
                }()),
                HasSubstr("loop trips="));
}

TEST(CountTrips, ABoundOfOneElement) {
  expect_count(loop("", "go=%yes", "%j = add(%i, %one) %e = less(%j, %v) %on = reshape(%e, %none)"),
               "%#0 = constant value=i64[0] {} %#1 = reshape(%v, %#0) %#2 = constant value=i64[] "
               "{1} %#3 = max(%#1, %#2)",
               "trips=%#3");
}

TEST(CountTrips, ABoundThatTheBodyComputes) {
  expect_count(loop("", "go=%yes",
                    "%q = shape(%x) %w = gather(%q, %zero) %k = mul(%w, %m) %j = add(%i, %one) %on "
                    "= less(%j, %k)"),
               "%q = shape(%x) %w = gather(%q, %zero) %k = mul(%w, %m) %#0 = constant value=i64[] "
               "{1} %#1 = max(%k, %#0)",
               "trips=%#1");
}

TEST(CountTrips, CountersOfFewerBits) {
  const std::string body = "%k = convert(%i) to=type i32[] %j = add(%k, %h1) ";
  expect_count(loop("%z0 = constant value=i32[] {0} %d = less(%z0, %h)", "go=%d",
                    body + "%on = less(%j, %h)"),
               "%#0 = convert(%h) to=type i64[]", "trips=%#0");
  // An int32 is at most the greatest int32.
  expect_count(loop("%z0 = constant value=i32[] {0} %d = less_or_equal(%z0, %h)", "go=%d",
                    body + "%on = less_or_equal(%j, %h)"),
               R"(%#0 = convert(%h) to=type i64[]
    %#1 = constant value=i64[] {2147483646}
    %#2 = min(%#0, %#1)
    %#3 = constant value=i64[] {1}
    %#4 = add(%#2, %#3)
    %#5 = constant value=i64[] {2147483646}
    %#6 = greater(%#0, %#5)
    %#7 = constant value=i64[] {9223372036854775807}
    %#8 = where(%#6, %#7, %#4))",
               "trips=%#8");
  // An int32 that is compared as an int64 never reaches a greater bound.
  expect_count(loop("%d = less(%zero, %n)", "go=%d",
                    body + "%l = convert(%j) to=type i64[] %on = less(%l, %n)"),
               R"(%#0 = constant value=i64[] {2147483647}
    %#1 = greater(%n, %#0)
    %#2 = constant value=i64[] {9223372036854775807}
    %#3 = where(%#1, %#2, %n))",
               "trips=%#3");
}

TEST(CountTrips, UntilEqual) {
  expect_count(loop("%e0 = equal(%zero, %n) %d = not(%e0)", "go=%d",
                    "%j = add(%i, %one) %e = equal(%j, %n) %on = not(%e)"),
               R"(%#0 = constant value=i64[] {0}
    %#1 = sub(%n, %#0)
    %#2 = constant value=i64[] {0}
    %#3 = less(%#1, %#2)
    %#4 = constant value=i64[] {9223372036854775807}
    %#5 = where(%#3, %#4, %#1))",
               "trips=%#5");
}

TEST(CountTrips, Down) {
  expect_count(loop("%d = greater(%n, %zero)", "go=%d",
                    "%j = sub(%n, %i) %k = sub(%j, %one) %on = greater(%k, %zero)"),
               "", "trips=%n");
}

TEST(CountTrips, StepsOfMoreThanOne) {
  const auto narrow = [](const std::string& bound) {
    return loop("%s2 = constant value=i8[] {2} %last = constant value=i8[] {" + bound + "}",
                "go=%yes", "%k = convert(%i) to=type i8[] %j = mul(%k, %s2) %on = less(%j, %last)");
  };
  expect_count(narrow("126"), "%#0 = constant value=i64[] {64}", "trips=%#0");
  expect_stays(narrow("127"));  // 126 is followed by -128
  const std::string step = "%two = constant value=i64[] {2} %nine = constant value=i64[] {9} ";
  expect_count(loop(step, "go=%yes", "%k = mul(%i, %two) %j = add(%k, %two) %on = less(%j, %nine)"),
               "%#0 = constant value=i64[] {5}", "trips=%#0");
  expect_stays(loop(step, "go=%yes", "%k = mul(%i, %two) %j = add(%k, %two) %on = less(%j, %n)"));
  expect_stays(loop(step + "%hi = constant value=i64[] {9223372036854775807}", "go=%yes",
                    "%k = mul(%i, %two) %j = add(%k, %two) %on = less(%j, %hi)"));
  expect_stays(loop(step, "go=%yes", "%k = mul(%i, %two) %j = add(%k, %s) %on = less(%j, %nine)"));
}

TEST(CountTrips, WhatStays) {
  for (
      const std::string body :
      {"%j = sub(%zero, %i) %on = less(%j, %n)",                  // away from the bound
       "%on = greater(%i, %n)",                                   //
       "%on = less(%m, %n)",                                      // does not depend on the trip
       "%on = equal(%i, %n)",                                     //
       "%j = add(%i, %one) %k = mul(%j, %j) %on = less(%k, %n)",  //
       "%k = mul(%i, %i) %on = less(%k, %n)",                     // not linear
       "%k = sub(%n, %i) %on = less(%i, %k)",                     // both sides change
       "%f = cast(%i) to=type f32[] %g = cast(%n) to=type f32[] %on = less(%f, %g)",
       "%u = convert(%i) to=type u64[] %w = convert(%n) to=type u64[] %on = less(%u, %w)",
       "%z1 = unsqueeze(%r, %v) %q = shape(%z1) %w = gather(%q, %zero) %on = less(%i, %w)",  // may
                                                                                             // fail
       "%k = div(%n, %m) %on = less(%i, %k)"})  // may fail
    expect_stays(loop("", "go=%yes", body));
}

TEST(CountTrips, ABoundOfUnknownShapeStays) {
  expect_stays(R"(graph "g" (%x: f32[2], %n: i64[?], %m: i64[?], %c: bool[?]) {
    %y, _ = loop go=%c states=(%x) { body(%i, %go, %a) {
      %r = neg(%a)
      %e = less(%i, %n)
      %on = one_element(%e)
      yield go=%on states=(%r) } }
    %z, _ = loop trips=%m go=%c states=(%x) { body(%i, %go, %a) {
      %r = neg(%a)
      yield go=%go states=(%r) } }
    yield %y, %z })");
}

TEST(CountTrips, AnInitialConditionOfUnknownShapeStays) {
  expect_rewrite(counted, R"(graph "g" (%x: f32[2], %n: i64[], %c: bool[?]) {
    %one = constant value=i64[] {1}
    %y, _ = loop go=%c states=(%x) { body(%i, %go, %a) {
      %r = neg(%a)
      %j = add(%i, %one)
      %on = less(%j, %n)
      yield go=%on states=(%r) } }
    yield %y })",
                 R"(graph "g" (%x: f32[2], %n: i64[], %c: bool[?]) {
    %#0 = constant value=i64[] {1}
    %#1 = max(%n, %#0)
    %y, _ = loop trips=%#1 go=%c states=(%x) { body(%i, %go, %a) {
      %r = neg(%a)
      yield go=%go states=(%r) } }
    yield %y })");
}

TEST(CountTrips, InnerLoops) {
  expect_rewrite(counted, R"(graph "g" (%x: f32[2], %n: i64[]) {
    %yes = constant value=bool[] {true}
    %one = constant value=i64[] {1}
    %y, _ = loop go=%yes states=(%x) { body(%i, %go, %a) {
      %j = add(%i, %one)
      %z, _ = loop go=%yes states=(%a) { body(%k, %on, %b) {
        %r = neg(%b)
        %l = add(%k, %one)
        %more = less(%l, %j)
        yield go=%more states=(%r) } }
      %again = less(%j, %n)
      yield go=%again states=(%z) } }
    yield %y })",
                 R"(graph "g" (%x: f32[2], %n: i64[]) {
    %one = constant value=i64[] {1}
    %#0 = constant value=i64[] {1}
    %#1 = max(%n, %#0)
    %y, _ = loop trips=%#1 states=(%x) { body(%i, %go, %a) {
      %j = add(%i, %one)
      %#2 = constant value=i64[] {1}
      %#3 = max(%j, %#2)
      %z, _ = loop trips=%#3 states=(%a) { body(%k, %on, %b) {
        %r = neg(%b)
        yield go=%on states=(%r) } }
      yield go=%go states=(%z) } }
    yield %y })");
}

TEST(CountTrips, AnInnerLoopKeepsAnInitialConditionFromData) {
  expect_rewrite(counted, R"(graph "g" (%x: f32[2], %n: i64[], %c: bool[]) {
    %one = constant value=i64[] {1}
    %y, _ = loop trips=%n states=(%x) { body(%i, %go, %a) {
      %z, _ = loop go=%c states=(%a) { body(%k, %on, %b) {
        %r = neg(%b)
        %l = add(%k, %one)
        %more = less(%l, %n)
        yield go=%more states=(%r) } }
      yield go=%go states=(%z) } }
    yield %y })",
                 R"(graph "g" (%x: f32[2], %n: i64[], %c: bool[]) {
    %y, _ = loop trips=%n states=(%x) { body(%i, %go, %a) {
      %#0 = constant value=i64[] {1}
      %#1 = max(%n, %#0)
      %z, _ = loop trips=%#1 go=%c states=(%a) { body(%k, %on, %b) {
        %r = neg(%b)
        yield go=%on states=(%r) } }
      yield go=%go states=(%z) } }
    yield %y })");
}

TEST(CountTrips, ACountThatIsKnownBeforeTheOuterLoopStaysKnown) {
  const auto nested = [](const std::string& most, const std::string& bound) {
    return R"(graph "g" (%x: f32[2], %n: i64[], %m: i64[]) {
    %yes = constant value=bool[] {true}
    %one = constant value=i64[] {1}
    %five = constant value=i64[] {5}
    %large = constant value=i64[] {9223372036854775807}
    %y, _ = loop trips=%n states=(%x) { body(%i, %go, %a) {
      %j = add(%i, %one)
      %z, _ = loop trips=)" +
           most +
           R"( go=%yes states=(%a) { body(%k, %on, %b) {
        %r = neg(%b)
        %l = add(%k, %one)
        %more = less(%l, )" +
           bound + R"()
        yield go=%more states=(%r) } }
      yield go=%go states=(%z) } }
    yield %y })";
  };
  expect_stays(nested("%five", "%j"));
  expect_stays(nested("%m", "%j"));
  for (const std::string& graph :
       {nested("%large", "%j"), nested("%five", "%m"), nested("%m", "%five")}) {
    ir::Graph g = ir::parse(graph);
    EXPECT_TRUE(counted(g)) << graph;
    EXPECT_THAT(ir::to_text(g), ::testing::Not(HasSubstr("less")));
  }
}

}  // namespace
}  // namespace rondel::passes
