// Composite ops are replaced by the nodes that they consist of.
#include "passes/expand_composites.h"

#include "passes/pass_case.h"

#include <gmock/gmock.h>

namespace rondel::passes {
namespace {

TEST(ExpandComposites, ACompositeOfACompositeIsExpandedToTheEnd) {
  expect_rewrite(expand_composites, R"g(graph "g" (%x: f32[N], %like: i64[]) {
    %a = neg(%x)
    %y = cast_like(%a, %like)
    %z = neg(%y)
    yield %z })g",
                 R"g(graph "g" (%x: f32[N], %like: i64[]) {
    %a = neg(%x)
    %y = convert(%a) to=type i64[]
    %z = neg(%y)
    yield %z })g");
}

TEST(ExpandComposites, InsideOfLoopsAndBranches) {
  expect_rewrite(expand_composites, R"g(graph "g" (%c: bool[], %n: i64[], %x: f32[]) {
    %y, _ = loop trips=%n states=(%x) { body(%i, %go, %s) {
      %d = cast(%i) to=type f32[]  // from "node 'd' (Cast)"
      %t = if(%c) { then { %e = cast_like(%i, %x) yield %e } else { yield %d } }
      yield go=%go states=(%t) } }
    yield %y })g",
                 R"g(graph "g" (%c: bool[], %n: i64[], %x: f32[]) {
    %y, _ = loop trips=%n states=(%x) { body(%i, %go, %s) {
      %d = convert(%i) to=type f32[]  // from "node 'd' (Cast)"
      %t = if(%c) { then { %e = convert(%i) to=type f32[] yield %e } else { yield %d } }
      yield go=%go states=(%t) } }
    yield %y })g");
}

// What the frames of a signal of any rank are computed by does not tell their rank.
TEST(ExpandComposites, TheRankOfAnItemStaysKnown) {
  ir::Graph g = ir::parse(R"g(graph "g" (%n: i64[], %signal: f32[...], %step: i64[]) {
    %y, _ = loop trips=%n { body(%i, %go) {
      %p = stft(%signal, %step)
      yield go=%go items=(%p) } }
    yield %y })g");
  EXPECT_TRUE(expand_composites(g));
  EXPECT_THAT(ir::to_text(g), ::testing::HasSubstr("loop trips=%n declared=[f32[?, ?, ?, 2]]"));
  ir::verify(g);
}

TEST(ExpandComposites, AProductOfMatricesWaitsForRanks) {
  expect_untouched(expand_composites, R"g(graph "g" (%a: f32[...], %b: f32[2, 3]) {
    %y = gemm(%a, %b)
    yield %y })g");
}

TEST(ExpandComposites, WhatAddsNothingLeavesNothing) {
  expect_rewrite(expand_composites, R"g(graph "g" (%x: f32[2]) {
    %a = identity(%x)
    %b = cast(%a) to=type f32[]
    %c = dropout(%b)
    yield %c })g",
                 R"g(graph "g" (%x: f32[2]) { yield %x })g");
}

TEST(ExpandComposites, OtherOpsStay) {
  expect_untouched(expand_composites, R"g(graph "g" (%x: f32[2, 2], %n: i64[]) {
    %k = constant value=f32[] {2}
    %a = mul(%x, %k)
    %b = mat_mul(%a, %x)
    %r = reduce_sum(%b)
    %y, _ = loop trips=%n states=(%b) { body(%i, %go, %s) { %t = neg(%s) yield go=%go states=(%t) } }
    yield %r, %y })g");
}

}  // namespace
}  // namespace rondel::passes
