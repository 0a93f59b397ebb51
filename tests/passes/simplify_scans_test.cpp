// A trip count that equals the extent of the loop's scans is removed, however the model computes
// it.
#include "passes/simplify_scans.h"

#include "ir/text.h"
#include "passes/pass_case.h"
#include "passes/remove_dead.h"

#include <gmock/gmock.h>

namespace rondel::passes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string simplified(const std::string& text) {
  ir::Graph g = ir::parse(text);
  simplify_scans(g);
  remove_dead(g);
  ir::verify(g);
  return ir::to_text(g);
}

bool simplify(ir::Graph& g) {
  const bool changed = simplify_scans(g);
  remove_dead(g);
  return changed;
}

TEST(SimplifyScans, WholeGraphOfACountThatIsTheExtent) {
  expect_rewrite(simplify, R"g(graph "g" (%x: f32[N, 3], %w: f32[N]) {
    %s = shape(%x)
    %zero = constant value=i64[] {0}
    %n = gather(%s, %zero)
    %v = identity(%x)
    %t, _ = loop trips=%n scans=(%v) extents=(%n) { body(%i, %go, %e) {
      %g = gather(%w, %i)
      %y = mul(%e, %g)
      yield go=%go items=(%y) } }
    yield %t })g",
                 R"g(graph "g" (%x: f32[N, 3], %w: f32[N]) {
    %t, _ = loop scans=(%x, %w) { body(%i, %go, %e, %g) {
      %y = mul(%e, %g)
      yield go=%go items=(%y) } }
    yield %t })g");
}

TEST(SimplifyScans, WholeGraphsThatStay) {
  expect_untouched(simplify, R"g(graph "g" (%x: f32[N, 3], %n: i64[], %go0: bool[]) {
    %t, _ = loop trips=%n scans=(%x) { body(%i, %go, %e) { yield go=%go items=(%e) } }
    %s = shape(%x)
    %zero = constant value=i64[] {0}
    %m = gather(%s, %zero)
    %u, _ = loop trips=%m go=%go0 scans=(%x) { body(%i, %go, %e) { yield go=%go items=(%e) } }
    %w, _ = loop trips=%n states=(%x) { body(%i, %go, %a) {
      %b = neg(%a)
      yield go=%go states=(%b) } }
    yield %t, %u, %w })g");
}

/// A loop that scans x along `axis` in %n trips, after the nodes that compute %n.
std::string counted(const std::string& count, const std::string& loop = "trips=%n scans=(%x)") {
  return simplified(R"(graph "g" (%x: f32[?, 3, ?], %z: f32[?, N], %w: f32[N], %v: i64[4]) {
    %zero = constant value=i64[] {0}
    %one = constant value=i64[] {1}
    %0 = constant value=i64[1] {0}
    %1 = constant value=i64[1] {1}
    %2 = constant value=i64[1] {2}
    %none = constant value=i64[0] {}
    %last = constant value=i64[1] {-1}
    %s = shape(%x)
    )" + count + R"(
    %t, _ = loop )" +
                    loop + R"( { body(%i, %go, %e) { yield go=%go items=(%e) } }
    yield %t
  })");
}

class TheExtent : public ::testing::TestWithParam<const char*> {};

TEST_P(TheExtent, is_no_count) {
  const std::string text = counted(GetParam());
  EXPECT_THAT(text, HasSubstr("loop scans=(%x)"));
  EXPECT_THAT(text, Not(HasSubstr("shape"))) << "nobody reads what the count came from";
}

INSTANTIATE_TEST_SUITE_P(
    SimplifyScans, TheExtent,
    ::testing::Values(
        "%n = gather(%s, %zero)",                                   //
        "%a = gather(%s, %0) %n = squeeze(%a)",                     //
        "%a = gather(%s, %0) %n = reshape(%a, %none)",              //
        "%a = slice(%s, %0, %1) %n = squeeze(%a, %0)",              //
        "%a = slice(%s, %0, %1, %0) %n = one_element(%a)",          //
        "%a = shape(%x) start=0 end=1 %n = reshape(%a, %none)",     //
        "%a = shape(%x) end=-2 %n = squeeze(%a)",                   //
        "%a = identity(%x) %b = shape(%a) %n = gather(%b, %zero)",  //
        "%a = neg(%x) %b = shape(%a) %n = gather(%b, %zero)",       //
        "%a = cast(%s) to=type u64[] %b = cast(%a) to=type i64[] %n = gather(%b, %zero)",
        "%a = checked_int32(%s) %b = cast(%a) to=type i64[] %n = gather(%b, %zero)",
        "%a = gather(%s, %zero) %b = unsqueeze(%a, %0) %n = squeeze(%b)",
        "%a = gather(%s, %0) %b = concat(%1, %a) axis=0 %n = gather(%b, %one)",
        "%a = gather(%x, %zero) axis=1 %b = shape(%a) %n = gather(%b, %zero)"));

class AnotherNumber : public ::testing::TestWithParam<const char*> {};

TEST_P(AnotherNumber, stays_the_count) {
  EXPECT_THAT(counted(GetParam()), HasSubstr("loop trips=%n scans=(%x)"));
}

INSTANTIATE_TEST_SUITE_P(
    SimplifyScans, AnotherNumber,
    ::testing::Values(
        "%a = gather(%s, %zero) %n = sub(%a, %one)",           //
        "%n = gather(%s, %one)",                               //
        "%a = constant value=i64[] {-1} %n = gather(%s, %a)",  //
        "%a = gather(%s, %zero) %b = gather(%v, %one) %n = min(%a, %b)",
        "%a = shape(%z) %n = gather(%a, %zero)",  //
        "%a = shape(%w) %n = gather(%a, %zero)",  //
        "%n = size(%x)",                          //
        "%n = gather(%v, %zero)",                 //
        // Numbers from 2^31 on wrap around in an int32.
        "%a = cast(%s) to=type i32[] %b = cast(%a) to=type i64[] %n = gather(%b, %zero)"));

TEST(SimplifyScans, OfAVectorTheSizeIsTheExtent) {
  EXPECT_THAT(counted("%n = size(%w)", "trips=%n scans=(%w)"), HasSubstr("loop scans=(%w)"));
}

TEST(SimplifyScans, AConstantIsTheExtentThatItIs) {
  EXPECT_THAT(counted("%n = constant value=i64[] {3}", "trips=%n scans=(%x) axis_in=[1]"),
              HasSubstr("loop scans=(%x) axis_in=[1]"));
  EXPECT_THAT(counted("%n = constant value=i64[] {2}", "trips=%n scans=(%x) axis_in=[1]"),
              HasSubstr("trips=%n"));
}

TEST(SimplifyScans, NegativeAxes) {
  EXPECT_THAT(counted("%n = gather(%s, %last)", "trips=%n scans=(%x) axis_in=[2]"),
              HasSubstr("loop scans=(%x) axis_in=[2]"));
  EXPECT_THAT(
      counted("%a = gather(%s, %last) %n = squeeze(%a)", "trips=%n scans=(%x) axis_in=[-1]"),
      HasSubstr("loop scans=(%x) axis_in=[-1]"));
}

TEST(SimplifyScans, ACondition) {
  EXPECT_THAT(simplified(R"(graph "g" (%x: f32[?], %c: bool[]) {
    %n = size(%x)
    %t, _ = loop trips=%n go=%c scans=(%x) { body(%i, %go, %e) { yield go=%c items=(%e) } }
    yield %t })"),
              HasSubstr("trips=%n go=%c"));
}

/// A loop with two scans of `type`s and as many trips as the first scan has.
std::string of_two(const std::string& x, const std::string& z) {
  return simplified("graph \"g\" (%x: " + x + ", %z: " + z + R"() {
    %n = size(%x)
    %t, %u, _ = loop trips=%n scans=(%x, %z) {
      body(%i, %go, %e, %f) { yield go=%go items=(%e, %f) } }
    yield %t, %u })");
}

TEST(SimplifyScans, EveryScanMustHaveTheExtent) {
  EXPECT_THAT(of_two("f32[N]", "f32[N, 2]"), HasSubstr("loop scans=(%x, %z)"));
  EXPECT_THAT(of_two("f32[4]", "f32[4, 2]"), HasSubstr("loop scans=(%x, %z)"));
  EXPECT_THAT(of_two("f32[?]", "f32[?, 2]"), HasSubstr("trips=%n"));
  EXPECT_THAT(of_two("f32[N]", "f32[M, 2]"), HasSubstr("trips=%n"));
  EXPECT_THAT(of_two("f32[4]", "f32[5, 2]"), HasSubstr("trips=%n"));
}

TEST(SimplifyScans, ADimensionOfAnyNameIsNoValuesOwn) {
  // Inference gives unknown extents names like v7.0.
  for (int v = 0; v < 12; ++v)
    EXPECT_THAT(simplified("graph \"g\" (%x: i64[\"v" + std::to_string(v) + R"(.0"], %w: f32[?]) {
      %a = non_zero(%w)
      %b = transpose(%a)
      %s = shape(%b)
      %zero = constant value=i64[] {0}
      %n = gather(%s, %zero)
      %t, _ = loop trips=%n scans=(%x) { body(%i, %go, %e) { yield go=%go items=(%e) } }
      yield %t })"),
                HasSubstr("trips=%n"));
}

TEST(SimplifyScans, ASliceOfAllOfIt) {
  // A reversed iterator of a network reads slices count - 1 to 0.
  const std::string all = R"(%n = gather(%s, %zero)
    %end = unsqueeze(%n, %0)
    %y = slice(%x, %0, %end, %0))";
  EXPECT_THAT(counted(all, "trips=%n scans=(%y) reverse_in=[1]"),
              HasSubstr("loop scans=(%x) reverse_in=[1]"));
  const std::string half = R"(%n = gather(%v, %zero)
    %end = unsqueeze(%n, %0)
    %y = slice(%x, %0, %end, %0))";
  EXPECT_THAT(counted(half, "trips=%n scans=(%y) reverse_in=[1]"), HasSubstr("scans=(%y)"));
}

TEST(SimplifyScans, ExtentsThatAreCertainlyEqualAreNotAsserted) {
  const auto asserted = [](const std::string& x, const std::string& z) {
    return simplified("graph \"g\" (%x: " + x + ", %z: " + z + R"() {
      %y = same_extent(%x, %z) axes=[0, 0]
      %t, %u, _ = loop scans=(%y, %z) { body(%i, %go, %e, %f) { yield go=%go items=(%e, %f) } }
      yield %t, %u })");
  };
  EXPECT_THAT(asserted("f32[N]", "f32[N, 2]"), HasSubstr("loop scans=(%x, %z)"));
  EXPECT_THAT(asserted("f32[?]", "f32[?, 2]"), HasSubstr("same_extent"));
}

/// A loop with stacks that have extents, after the nodes that compute the extents.
std::string extended(const std::string& before, const std::string& loop,
                     const std::string& x = "f32[N, 3]") {
  return simplified("graph \"g\" (%x: " + x + R"(, %z: f32[M], %m: i64[], %c: bool[]) {
    %s = shape(%x)
    %q = shape(%z)
    %zero = constant value=i64[] {0}
    %one = constant value=i64[] {1}
    %three = constant value=i64[] {3}
    %less = constant value=i64[] {-1}
    %n = gather(%s, %zero)
    %k = gather(%q, %zero)
    )" + before + R"(
    %t, %u, _ = loop )" +
                    loop + R"( { body(%i, %go) { yield go=%go items=(%i, %i) } }
    yield %t, %u
  })");
}

TEST(SimplifyScans, AnExtentThatIsTheTripsIsNone) {
  EXPECT_THAT(extended("", "trips=%n extents=(%n, %n)"), HasSubstr("loop trips=%n {"));
  EXPECT_THAT(extended("", "trips=%n extents=(%k, %n)"), HasSubstr("trips=%n extents=(%k, _) {"));
  EXPECT_THAT(extended("", "trips=%n extents=(_, %k)", "f32[M, 3]"), HasSubstr("loop trips=%n {"))
      << "of another tensor, whose extent has the same name";
  EXPECT_THAT(extended("%a = gather(%s, %zero)", "trips=%three extents=(%a, %three)", "f32[?, 3]"),
              HasSubstr("trips=%three extents=(%a, _) {"));
  EXPECT_THAT(extended("%a = gather(%s, %one)", "trips=%a extents=(%three, _)"),
              HasSubstr("loop trips=%a {"));
  EXPECT_THAT(extended("", "trips=%less extents=(%zero, _)"), HasSubstr("loop trips=%less {"));
}

TEST(SimplifyScans, AnExtentThatMayBeAnotherIsKept) {
  for (const std::string loop :
       {"trips=%n extents=(%k, _)", "trips=%three extents=(%one, _)",
        "trips=%three extents=(%n, _)",
        "trips=%m extents=(%m, _)",        // a negative extent means no trips and an error
        "trips=%less extents=(%less, _)",  // likewise
        "trips=%n go=%c extents=(%n, _)"})
    EXPECT_THAT(extended("", loop), HasSubstr("loop " + loop + " {"));
}

TEST(SimplifyScans, AnExtentThatIsTheScansIsNone) {
  const auto scanned = [](const std::string& how) {
    return simplified(R"(graph "g" (%x: f32[?, 3]) {
    %s = shape(%x)
    %zero = constant value=i64[] {0}
    %one = constant value=i64[] {1}
    %n = gather(%s, %zero)
    %k = gather(%s, %one)
    %t, %u, _ = loop )" +
                      how +
                      R"( { body(%i, %go, %e) { yield go=%go items=(%e, %e) } }
    yield %t, %u
  })");
  };
  const std::string both = scanned("trips=%n scans=(%x) extents=(%n, %n) axis_out=[1, 0]");
  EXPECT_EQ(both, scanned("trips=%n scans=(%x) axis_out=[1, 0]"));
  EXPECT_THAT(both, HasSubstr("loop scans=(%x) axis_out=[1, 0]"));
  EXPECT_EQ(scanned("scans=(%x) extents=(_, %n)"), scanned("scans=(%x)"));
  EXPECT_THAT(scanned("scans=(%x) extents=(%k, %n)"), HasSubstr("scans=(%x) extents=(%k, _)"));
}

/// A loop that gathers with the trip index.
std::string gathered(const std::string& loop, const std::string& body) {
  return simplified(R"(graph "g" (%x: f32[N, 2], %z: f32[2, N], %w: f32[M], %m: i64[]) {
    %s = shape(%x)
    %zero = constant value=i64[] {0}
    %n = gather(%s, %zero)
    %yes = constant value=bool[] {true}
    %t, _ = loop )" +
                    loop + " { body(%i, %go) { " + body + R"( } }
    yield %t })");
}

TEST(SimplifyScans, WhatIsGatheredByTheTripIsScanned) {
  const std::string both = R"(%a = gather(%x, %i)
      %j = identity(%i)
      %b = gather(%z, %j) axis=-1
      %c = add(%a, %b)
      yield go=%go items=(%c))";
  for (const std::string loop : {"trips=%n", "trips=%n go=%yes"}) {
    const std::string text = gathered(loop, both);
    EXPECT_THAT(text, HasSubstr("loop scans=(%x, %z) axis_in=[0, 1] {"));
    EXPECT_THAT(text, Not(HasSubstr("gather")));
  }
  EXPECT_THAT(gathered("trips=%n go=%yes", "%a = gather(%x, %i) yield go=%yes items=(%a)"),
              HasSubstr("loop scans=(%x) {"));
  // Along another extent the index may be past the end: an error that names the node.
  EXPECT_THAT(gathered("trips=%n", R"(%a = gather(%x, %i)
      %b = gather(%w, %i)
      %c = add(%a, %b)
      yield go=%go items=(%c))"),
              ::testing::AllOf(HasSubstr("loop scans=(%x) {"), HasSubstr("gather(%w, %i)")));
}

TEST(SimplifyScans, WhatIsGatheredOtherwiseIsNot) {
  for (const std::string loop : {"trips=%m", "go=%yes", "trips=%m go=%yes"})
    EXPECT_THAT(gathered(loop, "%a = gather(%x, %i) yield go=%go items=(%a)"),
                HasSubstr("loop " + loop + " {"));
  for (const std::string body : {"%a = gather(%w, %i) yield go=%go items=(%a)",
                                 "%a = gather(%x, %i) axis=1 yield go=%go items=(%a)",
                                 "%j = add(%i, %zero) %a = gather(%x, %j) yield go=%go items=(%a)",
                                 "%y = neg(%x) %a = gather(%y, %i) yield go=%go items=(%a)"})
    EXPECT_THAT(gathered("trips=%n", body), HasSubstr("loop trips=%n {"));
  EXPECT_THAT(gathered("trips=%n go=%yes",
                       "%a = gather(%x, %i) %on = less(%i, %m) yield go=%on items=(%a)"),
              HasSubstr("trips=%n go=%yes"));
}

TEST(SimplifyScans, InsideOfWhatIsGathered) {
  EXPECT_THAT(
      simplified(R"(graph "g" (%x: f32[N, M, 2]) {
    %s = shape(%x)
    %zero = constant value=i64[] {0}
    %n = gather(%s, %zero)
    %a, _ = loop trips=%n {
      body(%i, %go) {
        %slice = gather(%x, %i)
        %row = identity(%slice)
        %u = shape(%row)
        %m = gather(%u, %zero)
        %t, _ = loop trips=%m scans=(%row) { body(%j, %on, %e) {
          %f = gather(%row, %j)
          %g = add(%e, %f)
          yield go=%on items=(%g) } }
        yield go=%go items=(%t) } }
    yield %a })"),
      ::testing::AllOf(HasSubstr("loop scans=(%x)"), HasSubstr("loop scans=(%slice, %row)")));
}

TEST(SimplifyScans, InsideOfAnotherLoop) {
  EXPECT_THAT(simplified(R"(graph "g" (%x: f32[?, ?, 2], %m: i64[]) {
    %a, _ = loop scans=(%x) {
      body(%i, %go, %row) {
        %s = shape(%row)
        %zero = constant value=i64[] {0}
        %n = gather(%s, %zero)
        %t, _ = loop trips=%n scans=(%row) { body(%j, %on, %e) { yield go=%on items=(%e) } }
        yield go=%go items=(%t) } }
    yield %a })"),
              HasSubstr("loop scans=(%row)"));
}

}  // namespace
}  // namespace rondel::passes
