// Loop invariants are computed before the loop.
#include "passes/hoist_invariants.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

TEST(HoistInvariants, ChainsLeaveAllLoopsThatDoNotChangeThem) {
  expect_rewrite(hoist_invariants, R"g(graph "g" (%w: f32[3, 6], %x: f32[2, 3], %n: i64[]) {
    %y, _ = loop trips=%n states=(%x) {
      body(%i, %go, %s) {
        %z, _ = loop trips=%n states=(%s) {
          body(%j, %on, %t) {
            %starts = constant value=i64[1] {0}
            %ends = constant value=i64[1] {3}
            %axes = constant value=i64[1] {1}
            %part = slice(%w, %starts, %ends, %axes)
            %e = exp(%part)
            %p = mat_mul(%t, %e)
            %q = mat_mul(%s, %e)
            %r = add(%p, %q)
            yield go=%on states=(%r) } }
        yield go=%go states=(%z) } }
    yield %y })g",
                 R"g(graph "g" (%w: f32[3, 6], %x: f32[2, 3], %n: i64[]) {
    %starts = constant value=i64[1] {0}
    %ends = constant value=i64[1] {3}
    %axes = constant value=i64[1] {1}
    %part = slice(%w, %starts, %ends, %axes)
    %e = exp(%part)
    %y, _ = loop trips=%n states=(%x) {
      body(%i, %go, %s) {
        %q = mat_mul(%s, %e)
        %z, _ = loop trips=%n states=(%s) {
          body(%j, %on, %t) {
            %p = mat_mul(%t, %e)
            %r = add(%p, %q)
            yield go=%on states=(%r) } }
        yield go=%go states=(%z) } }
    yield %y })g");
}

TEST(HoistInvariants, WhatMayFailIsLargerOrIsOfIntegersStays) {
  expect_untouched(hoist_invariants,
                   R"g(graph "g" (%x: f32[3], %table: f32[9, 3], %k: i64[], %n: i64[], %m: i64[]) {
    %y, %rows, %counts, _ = loop trips=%n states=(%x) {
      body(%i, %go, %s) {
        %row = gather(%table, %k)
        %shape = constant value=i64[2] {5, 3}
        %many = expand(%x, %shape)
        %count = mul(%m, %m)
        %t = add(%s, %row)
        yield go=%go states=(%t) items=(%many, %count) } }
    yield %y, %rows, %counts })g");
}

TEST(HoistInvariants, AProductOfAColumnAndARowStays) {
  expect_untouched(hoist_invariants, R"g(graph "g" (%x: f32[N, 1], %w: f32[1, M], %n: i64[]) {
    %start = constant value=f32[] {0}
    %y, _ = loop trips=%n states=(%start) {
      body(%i, %go, %s) {
        %table = mat_mul(%x, %w)
        %most = reduce_max(%table) keepdims=0
        %t = add(%s, %most)
        yield go=%go states=(%t) } }
    yield %y })g");
}

TEST(HoistInvariants, AConstantMayBeReadTwice) {
  expect_rewrite(hoist_invariants, R"g(graph "g" (%w: f32[6, 3], %x: f32[3, 3], %n: i64[]) {
    %y, _ = loop trips=%n states=(%x) {
      body(%i, %go, %s) {
        %zero = constant value=i64[1] {0}
        %three = constant value=i64[1] {3}
        %part = slice(%w, %zero, %three, %zero)
        %t = mat_mul(%s, %part)
        yield go=%go states=(%t) } }
    yield %y })g",
                 R"g(graph "g" (%w: f32[6, 3], %x: f32[3, 3], %n: i64[]) {
    %zero = constant value=i64[1] {0}
    %three = constant value=i64[1] {3}
    %part = slice(%w, %zero, %three, %zero)
    %y, _ = loop trips=%n states=(%x) {
      body(%i, %go, %s) {
        %t = mat_mul(%s, %part)
        yield go=%go states=(%t) } }
    yield %y })g");
}

TEST(HoistInvariants, OperandsThatMayNotFitStay) {
  expect_rewrite(hoist_invariants, R"g(graph "g" (%x: f32[k, k], %w: f32[j, j], %n: i64[]) {
    %a, %b, _ = loop trips=%n stacks=2 {
      body(%i, %go) {
        %s = mat_mul(%x, %w)
        %t = mul(%x, %x)
        yield go=%go items=(%s, %t) } }
    yield %a, %b })g",
                 R"g(graph "g" (%x: f32[k, k], %w: f32[j, j], %n: i64[]) {
    %t = mul(%x, %x)
    %a, %b, _ = loop trips=%n stacks=2 {
      body(%i, %go) {
        %s = mat_mul(%x, %w)
        yield go=%go items=(%s, %t) } }
    yield %a, %b })g");
}

TEST(HoistInvariants, OnePassThatItsReadersDoOnTheWayStays) {
  expect_rewrite(hoist_invariants, R"g(graph "g" (%x: f32[3], %w: f32[3], %a: f32[], %n: i64[]) {
    %y, _ = loop trips=%n states=(%x) {
      body(%i, %go, %s) {
        %neg = neg(%w)
        %t = add(%s, %neg)
        %e = exp(%w)
        %scaled = mul(%e, %a)
        %u = add(%t, %scaled)
        %half = mul(%a, %a)
        %v = mul(%u, %half)
        yield go=%go states=(%v) } }
    yield %y })g",
                 R"g(graph "g" (%x: f32[3], %w: f32[3], %a: f32[], %n: i64[]) {
    %e = exp(%w)
    %half = mul(%a, %a)
    %y, _ = loop trips=%n states=(%x) {
      body(%i, %go, %s) {
        %neg = neg(%w)
        %t = add(%s, %neg)
        %scaled = mul(%e, %a)
        %u = add(%t, %scaled)
        %v = mul(%u, %half)
        yield go=%go states=(%v) } }
    yield %y })g");
}

TEST(HoistInvariants, DrawsAndBranchesStay) {
  expect_untouched(hoist_invariants, R"g(graph "g" (%x: f32[3], %c: bool[], %n: i64[]) {
    %y, _ = loop trips=%n states=(%x) {
      body(%i, %go, %s) {
        %r = bernoulli(%x)
        %t = add(%s, %r)
        %u = if(%c) {
          then {
            %e = exp(%x)
            yield %e }
          else {
            yield %t } }
        %v = add(%t, %u)
        yield go=%go states=(%v) } }
    yield %y })g");
}

}  // namespace
}  // namespace rondel::passes
