// What was computed before is not computed again.
#include "passes/common_subexpressions.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

TEST(CommonSubexpressions, ChainsInARegionAreComputedOnce) {
  expect_rewrite(common_subexpressions, R"g(graph "g" (%x: f32[2, 3], %m: i64[]) {
    %a = exp(%x)
    %axes = constant value=i64[1] {0}
    %s = reduce_sum(%a, %axes)
    %b = exp(%x)
    %same_axes = constant value=i64[1] {0}
    %t = reduce_sum(%b, %same_axes)
    %p = mul(%m, %m)
    %q = mul(%m, %m)
    %r = add(%p, %q)
    yield %s, %t, %r })g",
                 R"g(graph "g" (%x: f32[2, 3], %m: i64[]) {
    %a = exp(%x)
    %axes = constant value=i64[1] {0}
    %s = reduce_sum(%a, %axes)
    %same_axes = constant value=i64[1] {0}
    %p = mul(%m, %m)
    %r = add(%p, %p)
    yield %s, %s, %r })g");
}

TEST(CommonSubexpressions, AResultKeepsItsName) {
  expect_rewrite(common_subexpressions, R"g(graph "g" (%x: f32[3]) {
    %a = exp(%x)
    %y = exp(%x)
    %z = add(%a, %a)
    yield %y, %z })g",
                 R"g(graph "g" (%x: f32[3]) {
    %y = exp(%x)
    %z = add(%y, %y)
    yield %y, %z })g");
}

TEST(CommonSubexpressions, OtherOpsAttributesAndOperandsStay) {
  expect_untouched(common_subexpressions, R"g(graph "g" (%x: f32[2, 2], %y: f32[2, 2]) {
    %a = sub(%x, %y)
    %b = sub(%y, %x)
    %c = add(%x, %y)
    %p = transpose(%x) perm=[0, 1]
    %q = transpose(%x) perm=[1, 0]
    %zero = constant value=i64[1] {0}
    %one = constant value=i64[1] {1}
    %s = reduce_sum(%x, %zero)
    %t = reduce_sum(%x, %one)
    yield %a, %b, %c, %p, %q, %s, %t })g");
}

TEST(CommonSubexpressions, ABodyReadsProductsThatWereComputedAroundIt) {
  expect_rewrite(common_subexpressions, R"g(graph "g" (%x: f32[3, 3], %n: i64[], %k: i64[]) {
    %p = mat_mul(%x, %x)
    %y, _ = loop trips=%n states=(%p) {
      body(%i, %go, %s) {
        %q = mat_mul(%x, %x)
        %z, _ = loop trips=%k states=(%s) {
          body(%j, %on, %t) {
            %r = mat_mul(%x, %x)
            %u = add(%t, %r)
            yield go=%on states=(%u) } }
        %v = add(%z, %q)
        yield go=%go states=(%v) } }
    yield %y })g",
                 R"g(graph "g" (%x: f32[3, 3], %n: i64[], %k: i64[]) {
    %p = mat_mul(%x, %x)
    %y, _ = loop trips=%n states=(%p) {
      body(%i, %go, %s) {
        %z, _ = loop trips=%k states=(%s) {
          body(%j, %on, %t) {
            %u = add(%t, %p)
            yield go=%on states=(%u) } }
        %v = add(%z, %p)
        yield go=%go states=(%v) } }
    yield %y })g");
}

TEST(CommonSubexpressions, ABodyComputesElementsAndIntegersAgain) {
  expect_untouched(common_subexpressions, R"g(graph "g" (%x: f32[3], %m: i64[], %n: i64[]) {
    %p = exp(%x)
    %l = mul(%m, %m)
    %y, %c, _ = loop trips=%n states=(%p, %l) {
      body(%i, %go, %s, %k) {
        %q = exp(%x)
        %o = mul(%m, %m)
        %t = add(%s, %q)
        %j = add(%k, %o)
        yield go=%go states=(%t, %j) } }
    yield %y, %c })g");
}

TEST(CommonSubexpressions, WhatOneBranchComputesTheOtherComputesToo) {
  expect_untouched(common_subexpressions, R"g(graph "g" (%c: bool[], %x: f32[3, 3]) {
    %y = if(%c) {
      then {
        %p = mat_mul(%x, %x)
        yield %p }
      else {
        %q = mat_mul(%x, %x)
        %r = add(%q, %x)
        yield %r } }
    yield %y })g");
}

TEST(CommonSubexpressions, WhatTheModelSaysOfEitherShapeHolds) {
  expect_rewrite(common_subexpressions, R"g(graph "g" (%x: f32[?, ?]) {
    %a: f32[?, ?] = transpose(%x) perm=[1, 0]
    %b: f32[4, ?] = transpose(%x) perm=[1, 0]
    yield %a, %b })g",
                 R"g(graph "g" (%x: f32[?, ?]) {
    %a: f32[4, ?] = transpose(%x) perm=[1, 0]
    yield %a, %a })g");
}

}  // namespace
}  // namespace rondel::passes
