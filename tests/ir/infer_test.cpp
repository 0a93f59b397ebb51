#include "ir/infer.h"
#include "base/error.h"
#include "errors.h"
#include "ir/text.h"

#include <gmock/gmock.h>

namespace rondel::ir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The graph with all types, from a text that gives only the types of its inputs.
std::string typed(const std::string& text) { return to_text(parse(text)); }
std::string parse_error(const std::string& text) {
  return error_of([&] { parse(text); });
}

TEST(Infer, StatesAreWidenedUntilTheyHold) {
  EXPECT_THAT(typed(R"g(graph "g" (%a: f32[2], %b: f32[1, 2], %t: i64[]) {
    %f, %h, %n = loop trips=%t states=(%a, %b) {
      body(%i, %go, %x, %y) { %z = concat(%x, %x) axis=0 yield go=%go states=(%z, %x) } }
    yield %f, %h })g"),
              AllOf(HasSubstr("%f: f32[?], %h: f32[...], %n: i64[] = loop"),
                    HasSubstr("%x: f32[?], %y: f32[...]"), HasSubstr("%z: f32[?] = concat")));
}

TEST(Infer, ABranchThatIsNotTakenKeepsItsTypes) {
  const Graph g = parse(R"g(graph "g" (%x: f32[2]) {
    %never = constant value=bool[] {false}
    %y = if(%never) { then { %a = neg(%x) yield %a } else { yield %x } }
    yield %y })g");
  const NodeId n = g.value(g.root().results[0]).producer;
  const ValueId unread = g.region(g.node(n).regions[0]).results[0];
  TypeEnvironment k = environment_around(g, n);
  infer_node(g, n, k);
  EXPECT_EQ(k.types[index(unread)], g.value(unread).type);
}

TEST(Infer, StacksHaveTheTripsWhereTheyAreCertain) {
  EXPECT_THAT(typed(R"g(graph "g" (%s: f32[N, 3], %u: f32[3, 5], %c: bool[]) {
    %t = constant value=i64[] {7}
    %a, %n = loop trips=%t { body(%i, %go) { yield go=%go items=(%i) } }
    %b, %m = loop scans=(%s) axis_out=[1] { body(%i, %go, %e) { yield go=%go items=(%e) } }
    %d, %k = loop scans=(%u) axis_in=[-1] { body(%i, %go, %e) { yield go=%go items=(%e) } }
    %f, %l = loop trips=%t go=%c { body(%i, %go) { yield go=%go items=(%i) } }
    %h, %j = loop go=%c extents=(%t) { body(%i, %go) { yield go=%go items=(%i) } }
    yield %a, %b, %d, %f, %h })g"),
              AllOf(HasSubstr("%a: i64[7]"), HasSubstr("%b: f32[3, N]"), HasSubstr("%d: f32[5, 3]"),
                    HasSubstr("%f: i64[?]"), HasSubstr("%h: i64[7]")));
}

TEST(Infer, BranchesAreJoined) {
  EXPECT_THAT(typed(R"g(graph "g" (%c: bool[], %a: f32[2, N], %b: f32[3, N]) {
    %y = if(%c) { then { yield %a } else { yield %b } } yield %y })g"),
              HasSubstr("%y: f32[?, N] = if"));
}

TEST(Infer, ErrorsNameNodeOpAndTypes) {
  EXPECT_THAT(parse_error(R"g(graph "g" (%a: f32[8, 64], %b: f32[32, 8]) {
    %y = mat_mul(%a, %b)  // from "node 'layer3/qk' (MatMul)"
    yield %y })g"),
              AllOf(HasSubstr("node 'layer3/qk' (MatMul): "), HasSubstr("a=f32[8, 64]"),
                    HasSubstr("b=f32[32, 8]")));
}

TEST(Infer, AStateKeepsItsTypeAndAFixedOneItsShape) {
  EXPECT_THAT(
      parse_error(R"g(graph "g" (%a: f32[2], %t: i64[]) {
    %f, %n = loop trips=%t states=(%a) { body(%i, %go, %x) { yield go=%go states=(%i) } }
    yield %f })g"),
      HasSubstr("state 0 ('x') begins as f32[2] and becomes i64[]; a state keeps its type"));
  EXPECT_THAT(parse_error(R"g(graph "g" (%a: f32[2], %t: i64[]) {
    %f, %n = loop trips=%t states=(%a) fixed=[1] {
      body(%i, %go, %x) { %z = concat(%x, %x) axis=0 yield go=%go states=(%z) } }
    yield %f })g"),
              HasSubstr("begins as f32[2] and becomes f32[4]; a state keeps its shape here"));
}

TEST(Infer, AxesOfScansAndStacksAreInRange) {
  EXPECT_THAT(parse_error(R"g(graph "g" (%s: f32[4]) {
    %a, %n = loop scans=(%s) axis_in=[1] { body(%i, %go, %e) { yield go=%go items=(%e) } }
    yield %a })g"),
              HasSubstr("scan 0 is f32[4]; axis 1 is out of range"));
  EXPECT_THAT(parse_error(R"g(graph "g" (%s: f32[4]) {
    %a, %n = loop scans=(%s) axis_out=[-2] { body(%i, %go, %e) { yield go=%go items=(%e) } }
    yield %a })g"),
              HasSubstr("stack 0 has rank 1; axis -2 is out of range"));
}

TEST(Infer, TripsAndConditionsAreScalars) {
  EXPECT_THAT(parse_error(R"g(graph "g" (%t: i32[]) {
    %n = loop trips=%t { body(%i, %go) { yield go=%go } } yield %n })g"),
              HasSubstr("the trip count is i32[]; expected one element of i64"));
}

/// The type of the value with this name, if unknown extents have names.
Type named_type(const Graph& g, std::string_view name, bool measure = false) {
  TypeEnvironment k = named_type_environment(g);
  k.measure = measure;
  infer_region(g, RegionId::root, k);
  for (std::size_t v = 0; v < g.value_count(); ++v)
    if (g.value(static_cast<ValueId>(v)).name == name) return k.types[v];
  ADD_FAILURE() << "no value " << name;
  return {};
}

TEST(Infer, ExtentsOfStatesHaveNamesInTheirLoopOnly) {
  const Graph g = parse(R"g(graph "g" (%n: i64[], %s: f32[N], %r: f32[2]) {
    %a, %b, %c, _ = loop trips=%n states=(%s, %s, %s) {
      body(%i, %go, %x: f32[?], %y: f32[?], %z: f32[?]) {
        %x1 = concat(%x, %r) axis=0
        %y1 = concat(%r, %y) axis=0
        %z1 = concat(%z, %r, %r) axis=0
        yield go=%go states=(%x1, %y1, %z1)
      }
    }
    yield %a, %b, %c
  })g");
  const Extent x = named_type(g, "x").extent(0), z = named_type(g, "z").extent(0);
  ASSERT_TRUE(x.symbolic());
  EXPECT_EQ(named_type(g, "y").extent(0), x) << "both begin alike and grow alike";
  EXPECT_FALSE(z == x);
  EXPECT_EQ(to_text(named_type(g, "z1").extent(0)), to_text(z) + " + 4");
  EXPECT_FALSE(named_type(g, "a").extent(0).known_or_symbolic()) << "the loop is over";
}

/// The text of the extent of %a after a loop that appends `grow` to it; `loop`: its inputs.
std::string final_extent(const std::string& loop, const std::string& grow,
                         const std::string& go = "%go") {
  const Graph g = parse(
      "graph \"g\" (%s: f32[N], %r: f32[2], %c: f32[5, 2], %p: bool[]) {\n"
      "%n: i64[] = constant value=i64[] {7}\n%a, _ = loop " +
      loop + " states=(%s) { body(%i, %go, %x: f32[?]) {\n" + grow + "\nyield go=" + go +
      " states=(%y) } }\nyield %a }");
  return to_text(named_type(g, "a").extent(0));
}

TEST(Infer, AStateThatGrowsByTheSameInEachTripHasAKnownExtentAfterTheLoop) {
  EXPECT_EQ(final_extent("trips=%n", "%y = concat(%x, %r) axis=0"), "N + 14");
  EXPECT_EQ(final_extent("trips=%n go=%p", "%y = concat(%x, %r) axis=0"), "?")
      << "it may end early";
  EXPECT_EQ(final_extent("trips=%n", "%y = concat(%x, %x) axis=0"), "?");
}

/// A loop that takes from its state what it reads no more of %k: %s has `rows` elements.
Graph shrinking_loop(const std::string& rows, const std::string& kept = "%kept = shape(%s)\n") {
  return parse(
      "graph \"g\" (%e: f32[N], %k: f32[N + 7], %m: f32[M]) {\n"
      "%n: i64[] = constant value=i64[] {7}\n%six: i64[] = constant value=i64[] {6}\n"
      "%zero: i64[1] = constant value=i64[1] {0}\n%l = shape(%e)\n%first = neg(%k)\n"
      "%a, _ = loop trips=%n states=(%first) { body(%i, %go, %x: f32[?]) {\n" +
      rows +
      "%r1 = unsqueeze(%r, %zero)\n%end = add(%l, %r1)\n"
      "%s = slice(%k, %zero, %end, %zero)\n" +
      kept + "%y = slice(%x, %zero, %kept, %zero)\nyield go=%go states=(%y) } }\nyield %a }");
}

TEST(Infer, WhatHasTheExtentOfAStateInEachTripHasItByName) {
  const Graph g = shrinking_loop("%r = sub(%six, %i)\n");
  const Extent x = named_type(g, "x", true).extent(0);
  ASSERT_TRUE(x.symbolic());
  EXPECT_EQ(named_type(g, "s", true).extent(0), Extent(Integer(x) - 1));
  EXPECT_EQ(named_type(g, "y", true).extent(0), Extent(Integer(x) - 1));
}

/// The memory of the state has room for its first value.
TEST(Infer, AStateThatShrinksHasAnExtentOfItsOwnAfterTheLoop) {
  const Graph g = shrinking_loop("%r = sub(%six, %i)\n");
  EXPECT_FALSE(named_type(g, "a", true).extent(0) == Extent::named("N"));
}

TEST(Infer, AnExtentThatOtherThingsBoundKeepsItsOwnName) {
  const Graph g = shrinking_loop(
      "%r = sub(%six, %i)\n", "%all = shape(%s)\n%other = shape(%m)\n%kept = min(%all, %other)\n");
  const Extent x = named_type(g, "x", true).extent(0), s = named_type(g, "s", true).extent(0);
  ASSERT_TRUE(x.symbolic() && s.symbolic());
  EXPECT_FALSE((Integer(x) - Integer(s)).known());
}

/// The first trip's extent is that of the state, but one is taken from it only in every other trip.
TEST(Infer, AnExtentThatDoesNotFollowTheTripsKeepsItsOwnName) {
  const Graph g = shrinking_loop(
      "%two: i64[] = constant value=i64[] {2}\n%h = div(%i, %two)\n"
      "%r = sub(%six, %h)\n");
  const Extent x = named_type(g, "x", true).extent(0), s = named_type(g, "s", true).extent(0);
  ASSERT_TRUE(x.symbolic() && s.symbolic());
  EXPECT_FALSE((Integer(x) - Integer(s)).known());
}

/// Two `if`s choose on their own.
TEST(Infer, ExtentsOfBranchesHaveNamesOfTheirIf) {
  const Graph g = parse(R"g(graph "g" (%p: bool[], %q: bool[], %s: f32[2], %t: f32[5]) {
    %a, %b = if(%p) { then { yield %s, %s } else { yield %t, %t } }
    %c, %d = if(%q) { then { yield %a, %s } else { yield %a, %t } }
    yield %a, %b, %c, %d
  })g");
  const Extent a = named_type(g, "a").extent(0);
  ASSERT_TRUE(a.symbolic());
  EXPECT_EQ(named_type(g, "b").extent(0), a);
  EXPECT_EQ(named_type(g, "c").extent(0), a);
  EXPECT_FALSE(named_type(g, "d").extent(0) == a);
}

}  // namespace
}  // namespace rondel::ir
