// Loops with conditions that do not change are copied into the branches of one `if`.
#include "passes/unswitch_loops.h"

#include "passes/pass_case.h"

#include <fmt/format.h>

namespace rondel::passes {
namespace {

TEST(UnswitchLoops, AConditionFromOutsideIsDecidedBeforeTheLoop) {
  expect_rewrite(unswitch_loops, R"g(graph "g" (%x: f32[4], %c: bool[], %n: i64[]) {
    %last, %all, _ = loop trips=%n states=(%x) {
      body(%i, %go, %s) {
        %d = if(%c) { then { %p = exp(%s) yield %p } else { yield %s } }
        %e = neg(%d)
        yield go=%go states=(%e) items=(%d) } }
    yield %last, %all })g",
                 R"g(graph "g" (%x: f32[4], %c: bool[], %n: i64[]) {
    %last: f32[4], %all: f32[?, 4] = if(%c) {
      then {
        %last, %all, _ = loop trips=%n states=(%x) {
          body(%i, %go, %s) {
            %p = exp(%s)
            %e = neg(%p)
            yield go=%go states=(%e) items=(%p) } }
        yield %last, %all }
      else {
        %last, %all, _ = loop trips=%n states=(%x) {
          body(%i, %go, %s) {
            %e = neg(%s)
            yield go=%go states=(%e) items=(%s) } }
        yield %last, %all } }
    yield %last, %all })g");
}

// Every `if` with the condition takes the same branch, in all regions of the loop.
TEST(UnswitchLoops, TheConditionDecidesAtEveryDepth) {
  expect_rewrite(unswitch_loops, R"g(graph "g" (%x: f32[4], %c: bool[1], %n: i64[]) {
    %last, _ = loop trips=%n states=(%x) {
      body(%i, %go, %s) {
        %d = if(%c) { then { %p = exp(%s) yield %p } else {
          %q = if(%c) { then { yield %s } else { %a = abs(%s) yield %a } }
          yield %q } }
        %e, _ = loop trips=%i states=(%d) {
          body(%j, %on, %t) {
            %u = if(%c) { then { %k = neg(%t) yield %k } else { yield %t } }
            yield go=%on states=(%u) } }
        yield go=%go states=(%e) } }
    yield %last })g",
                 R"g(graph "g" (%x: f32[4], %c: bool[1], %n: i64[]) {
    %last: f32[4] = if(%c) {
      then {
        %last, _ = loop trips=%n states=(%x) {
          body(%i, %go, %s) {
            %p = exp(%s)
            %e, _ = loop trips=%i states=(%p) {
              body(%j, %on, %t) {
                %k = neg(%t)
                yield go=%on states=(%k) } }
            yield go=%go states=(%e) } }
        yield %last }
      else {
        %last, _ = loop trips=%n states=(%x) {
          body(%i, %go, %s) {
            %a = abs(%s)
            %e, _ = loop trips=%i states=(%a) {
              body(%j, %on, %t) {
                yield go=%on states=(%t) } }
            yield go=%go states=(%e) } }
        yield %last } }
    yield %last })g");
}

TEST(UnswitchLoops, TwoConditionsMakeFourLoops) {
  expect_rewrite(unswitch_loops, R"g(graph "g" (%x: f32[4], %c: bool[], %d: bool[], %n: i64[]) {
    %last, _ = loop trips=%n states=(%x) {
      body(%i, %go, %s) {
        %t = if(%c) { then { %p = exp(%s) yield %p } else { yield %s } }
        %u = if(%d) { then { %q = neg(%t) yield %q } else { yield %t } }
        yield go=%go states=(%u) } }
    yield %last })g",
                 R"g(graph "g" (%x: f32[4], %c: bool[], %d: bool[], %n: i64[]) {
    %last: f32[4] = if(%c) {
      then {
        %last: f32[4] = if(%d) {
          then {
            %last, _ = loop trips=%n states=(%x) {
              body(%i, %go, %s) {
                %p = exp(%s)
                %q = neg(%p)
                yield go=%go states=(%q) } }
            yield %last }
          else {
            %last, _ = loop trips=%n states=(%x) {
              body(%i, %go, %s) {
                %p = exp(%s)
                yield go=%go states=(%p) } }
            yield %last } }
        yield %last }
      else {
        %last: f32[4] = if(%d) {
          then {
            %last, _ = loop trips=%n states=(%x) {
              body(%i, %go, %s) {
                %q = neg(%s)
                yield go=%go states=(%q) } }
            yield %last }
          else {
            %last, _ = loop trips=%n states=(%x) {
              body(%i, %go, %s) {
                yield go=%go states=(%s) } }
            yield %last } }
        yield %last } }
    yield %last })g");
}

/// A loop with a body that computes `%d` from its state `%s`, and stacks `item`.
std::string loop_with(const std::string& inputs, const std::string& body,
                      const std::string& item = "%d") {
  return R"g(graph "g" (%x: f32[4], %n: i64[], )g" + inputs + R"g() {
    %last, %all, _ = loop trips=%n states=(%x) {
      body(%i, %go, %s) {
        )g" +
         body + R"g(
        %e = neg(%s)
        yield go=%go states=(%e) items=()g" +
         item + R"g() } }
    yield %last, %all })g";
}

TEST(UnswitchLoops, ConditionsOfTheTripStay) {
  expect_untouched(unswitch_loops, loop_with("%k: i64[]", R"g(%c = less(%i, %k)
        %d = if(%c) { then { %p = exp(%s) yield %p } else { yield %s } })g"));
}

// An `if` fails if its condition is not one element, which a loop without trips never asks.
TEST(UnswitchLoops, ConditionsThatMayNotBeOneElementStay) {
  expect_untouched(unswitch_loops, loop_with("%c: bool[k]", R"g(
        %d = if(%c) { then { %p = exp(%s) yield %p } else { yield %s } })g"));
}

// The shape of the item, where no trip is made, is that of both branches.
TEST(UnswitchLoops, BranchesOfDifferentTypesStay) {
  expect_untouched(unswitch_loops, loop_with("%c: bool[], %y: f32[3]", R"g(
        %d = if(%c) { then { %p = exp(%s) yield %p } else { yield %y } })g"));
  // What a branch gives may tell a shape.
  expect_untouched(unswitch_loops, loop_with("%c: bool[]", R"g(
        %two = constant value=i64[1] {2}
        %one = constant value=i64[1] {1}
        %k = if(%c) { then { yield %one } else { yield %two } }
        %d = constant_of_shape(%k))g"));
  expect_untouched(unswitch_loops, loop_with("%c: bool[]", R"g(
        %zero = constant value=i64[1] {0}
        %two = constant value=i64[1] {2}
        %one = constant value=i64[1] {1}
        %k = if(%c) { then { yield %one } else { yield %two } }
        %d = slice(%s, %zero, %k))g"));
  expect_untouched(unswitch_loops, loop_with("%c: bool[]", R"g(
        %two = constant value=i64[1] {2}
        %four = constant value=i64[1] {4}
        %k = if(%c) { then { yield %four } else { yield %two } }
        %d = reshape(%s, %k))g"));
}

// One copy would be refused for what only the other computes.
TEST(UnswitchLoops, BranchesOfDifferentTypesThatAreNotStackedStay) {
  expect_untouched(unswitch_loops, R"g(graph "g" (%x: f32[4], %y: f32[3], %c: bool[], %n: i64[]) {
    %last, _ = loop trips=%n states=(%x) {
      body(%i, %go, %s) {
        %axis = constant value=i64[1] {0}
        %d = if(%c) { then { yield %s } else { yield %y } }
        %t = reduce_sum(%d, %axis) keepdims=0
        %u = add(%s, %t)
        yield go=%go states=(%u) } }
    yield %last })g");
}

TEST(UnswitchLoops, NamedExtentsOfItemsNeedShapesThatAgree) {
  const auto with = [](const std::string& other) {
    return R"g(graph "g" (%x: f32[j], %y: f32[k], %c: bool[], %n: i64[]) {
      %last, %all, %sums, _ = loop trips=%n states=(%x) {
        body(%i, %go, %s) {
          %d = if(%c) { then { %p = exp(%s) yield %p } else { yield %s } }
          %t = add(%y, )g" +
           other + R"g()
          yield go=%go states=(%d) items=(%d, %t) } }
      yield %last, %all, %sums })g";
  };
  expect_untouched(unswitch_loops, with("%x"));
  ir::Graph g = ir::parse(with("%y"));
  EXPECT_TRUE(unswitch_loops(g));
}

/// A loop whose body has `count` nodes and an `if`.
std::string long_loop(int count) {
  std::string nodes;
  for (int k = 0; k < count; ++k) nodes += fmt::format("%n{} = neg(%s)\n", k);
  return loop_with("%c: bool[]",
                   nodes + "%d = if(%c) { then { %p = exp(%s) yield %p } else { yield %s } }");
}

TEST(UnswitchLoops, LongLoopsStay) {
  ir::Graph g = ir::parse(long_loop(125));
  EXPECT_TRUE(unswitch_loops(g));
  expect_untouched(unswitch_loops, long_loop(126));
}

// Each level of branches may have half of the nodes.
TEST(UnswitchLoops, ManyConditionsCopyABoundedNumberOfNodes) {
  std::string inputs = "%x0: f32[4]", body = "%d0 = neg(%s)\n";
  for (int k = 0; k < 12; ++k) {
    inputs += fmt::format(", %c{}: bool[]", k);
    body += fmt::format(
        "%d{} = if(%c{}) {{ then {{ %p{} = exp(%d{}) yield %p{} }} else {{ yield %d{} }} }}\n",
        k + 1, k, k, k, k, k);
  }
  ir::Graph g = ir::parse(loop_with(inputs, body, "%d12"));
  EXPECT_TRUE(unswitch_loops(g));
  EXPECT_LT(g.regions_below(ir::RegionId::root).size(), 400U);
  EXPECT_FALSE(unswitch_loops(g));
}

TEST(UnswitchLoops, InnerLoopsWhoseExtentsBecomeKnownLateStay) {
  const auto with = [](const std::string& trips) {
    return R"g(graph "g" (%x: f32[4], %n: i64[]) {
      %y, _ = loop trips=%n states=(%x) {
        body(%j, %on, %a) {
          %zero = constant value=i64[] {0}
          %m = constant value=i64[] {3}
          %c = less(%j, %n)
          _, %all, _ = loop trips=)g" +
           trips + R"g( states=(%a) {
            body(%i, %go, %s) {
              %d = if(%c) { then { %p = exp(%s) yield %p } else { yield %s } }
              yield go=%go states=(%d) items=(%d) } }
          %axis = constant value=i64[1] {0}
          %b = reduce_sum(%all, %axis) keepdims=0
          yield go=%on states=(%b) } }
      yield %y })g";
  };
  expect_untouched(unswitch_loops, with("%j"));
  ir::Graph g = ir::parse(with("%m"));
  EXPECT_TRUE(unswitch_loops(g));
}

}  // namespace
}  // namespace rondel::passes
