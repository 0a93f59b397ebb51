#include "base/error.h"
#include "ir/errors.h"
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

}  // namespace
}  // namespace rondel::ir
