// Transpositions of matrices become attributes of the products that read them.
#include "passes/orient_products.h"

#include "passes/pass_case.h"
#include "passes/remove_dead.h"

namespace rondel::passes {
namespace {

/// Nodes that become unread are left for remove_dead.
bool oriented(ir::Graph& g) {
  const bool changed = orient_products(g);
  remove_dead(g);
  return changed;
}

TEST(OrientProducts, TransposedOperandsAreReadAsTheyStand) {
  expect_rewrite(oriented, R"g(graph "g" (%a: f32[3, 2], %b: f32[4, 5, 3]) {
    %s = transpose(%a)
    %t = transpose(%b) perm=[0, 2, 1]
    %y = mat_mul(%s, %t)
    %z = mat_mul(%b, %s) transpose_b=1
    yield %y, %z })g",
                 R"g(graph "g" (%a: f32[3, 2], %b: f32[4, 5, 3]) {
    %y = mat_mul(%a, %b) transpose_a=1 transpose_b=1
    %z = mat_mul(%b, %a)
    yield %y, %z })g");
}

TEST(OrientProducts, AProductThatIsOnlyTransposedGivesTheTransposedResult) {
  expect_rewrite(oriented,
                 R"g(graph "g" (%a: f32[3, 2], %b: f32[2, 4], %c: f32[5, 2, 3], %d: f32[5, 4, 2]) {
    %p = mat_mul(%a, %b)
    %y = transpose(%p)
    %q = mat_mul(%c, %d) transpose_a=1 transpose_b=1
    %z = transpose(%q) perm=[0, 2, 1]
    yield %y, %z })g",
                 R"g(graph "g" (%a: f32[3, 2], %b: f32[2, 4], %c: f32[5, 2, 3], %d: f32[5, 4, 2]) {
    %p = mat_mul(%b, %a) transpose_a=1 transpose_b=1
    %q = mat_mul(%d, %c)
    yield %p, %q })g");
}

TEST(OrientProducts, AProductThatOthersReadOrOfAVectorStays) {
  expect_untouched(oriented,
                   R"g(graph "g" (%a: f32[3, 2], %b: f32[2, 4], %v: f32[2], %c: f32[5, 2, 4]) {
    %p = mat_mul(%a, %b)
    %y = transpose(%p) perm=[1, 0]
    %q = mat_mul(%v, %c)
    %z = transpose(%q) perm=[1, 0]
    yield %p, %y, %z })g");
}

TEST(OrientProducts, ATranspositionThatOthersReadStays) {
  expect_rewrite(oriented, R"g(graph "g" (%a: f32[3, 2], %b: f32[3, 4]) {
    %s = transpose(%a) perm=[1, 0]
    %y = mat_mul(%s, %b)
    yield %y, %s })g",
                 R"g(graph "g" (%a: f32[3, 2], %b: f32[3, 4]) {
    %s = transpose(%a) perm=[1, 0]
    %y = mat_mul(%a, %b) transpose_a=1
    yield %y, %s })g");
}

TEST(OrientProducts, AxesBeforeTheMatrixStay) {
  expect_untouched(oriented, R"g(graph "g" (%a: f32[3, 4, 2], %b: f32[3, 5]) {
    %s = transpose(%a) perm=[1, 0, 2]
    %t = transpose(%a) perm=[2, 1, 0]
    %y = mat_mul(%s, %b) transpose_a=1
    %z = mat_mul(%t, %b)
    yield %y, %z })g");
}

TEST(OrientProducts, AConstantIsStoredAsItIsRead) {
  expect_rewrite(oriented, R"g(graph "g" (%n: i64[], %a: f32[1, 2]) {
    %w = constant value=f32[3, 2] {1, 2, 3, 4, 5, 6}
    %y = mat_mul(%a, %w) transpose_b=1
    %z, _ = loop trips=%n states=(%y) { body(%i, %go, %s) {
      %t = mat_mul(%a, %w) transpose_b=1
      yield go=%go states=(%t) } }
    yield %z })g",
                 R"g(graph "g" (%n: i64[], %a: f32[1, 2]) {
    %#0 = constant value=f32[2, 3] {1, 3, 5, 2, 4, 6}
    %y = mat_mul(%a, %#0)
    %z, _ = loop trips=%n states=(%y) { body(%i, %go, %s) {
      %t = mat_mul(%a, %#0)
      yield go=%go states=(%t) } }
    yield %z })g");
}

TEST(OrientProducts, WhatALoopReadsTransposedIsStoredSoBeforeIt) {
  expect_rewrite(oriented, R"g(graph "g" (%n: i64[], %a: f32[2, 2], %w: f32[2, 2]) {
    %s = transpose(%w)
    %z, _ = loop trips=%n states=(%a) { body(%i, %go, %x) {
      %y, _ = loop trips=%n states=(%x) { body(%j, %on, %u) {
        %p = mat_mul(%u, %s)
        %q = mat_mul(%p, %x) transpose_b=1
        yield go=%on states=(%q) } }
      yield go=%go states=(%y) } }
    yield %z })g",
                 R"g(graph "g" (%n: i64[], %a: f32[2, 2], %w: f32[2, 2]) {
    %#0 = transpose(%w) perm=[1, 0]
    %#1 = row_major(%#0)
    %z, _ = loop trips=%n states=(%a) { body(%i, %go, %x) {
      %#2 = transpose(%x) perm=[1, 0]
      %#3 = row_major(%#2)
      %y, _ = loop trips=%n states=(%x) { body(%j, %on, %u) {
        %p = mat_mul(%u, %#1)
        %q = mat_mul(%p, %#3)
        yield go=%on states=(%q) } }
      yield go=%go states=(%y) } }
    yield %z })g");
}

TEST(OrientProducts, AConstantThatIsReadBothWaysStays) {
  expect_untouched(oriented, R"g(graph "g" (%a: f32[1, 2], %i: i64[1]) {
    %w = constant value=f32[3, 2] {1, 2, 3, 4, 5, 6}
    %y = mat_mul(%a, %w) transpose_b=1
    %z = gather(%w, %i) axis=0
    yield %y, %z })g");
}

}  // namespace
}  // namespace rondel::passes
