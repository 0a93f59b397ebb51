// Stacks that nothing reads and states that are only used to compute their own next values are
// removed.
#include "passes/remove_dead_loop_parts.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

TEST(RemoveDeadLoopParts, AndWhatComputesThem) {
  expect_rewrite(remove_dead_loop_parts, R"g(graph "g" (%x: f32[2], %n: i64[], %z: f32[]) {
    %f, _, _ = loop trips=%n states=(%x, %z) { body(%i, %go, %a, %b) {
      %c = neg(%a)
      %d = exp(%b)
      yield go=%go states=(%c, %d) } }
    yield %f })g",
                 R"g(graph "g" (%x: f32[2], %n: i64[], %z: f32[]) {
    %f, _ = loop trips=%n states=(%x) { body(%i, %go, %a) {
      %c = neg(%a)
      yield go=%go states=(%c) } }
    yield %f })g");
}

TEST(RemoveDeadLoopParts, ThatReadEachOther) {
  expect_rewrite(remove_dead_loop_parts, R"g(graph "g" (%x: f32[], %n: i64[]) {
    _, _, %f, _ = loop trips=%n states=(%x, %x, %x) { body(%i, %go, %a, %b, %c) {
      %p = add(%a, %b)
      %q = mul(%b, %c)
      %r = neg(%c)
      yield go=%go states=(%q, %p, %r) } }
    yield %f })g",
                 R"g(graph "g" (%x: f32[], %n: i64[]) {
    %f, _ = loop trips=%n states=(%x) { body(%i, %go, %c) {
      %r = neg(%c)
      yield go=%go states=(%r) } }
    yield %f })g");
}

TEST(RemoveDeadLoopParts, OfInnerLoopsAndThoseThatOnlyThatReads) {
  expect_rewrite(remove_dead_loop_parts, R"g(graph "g" (%x: f32[], %n: i64[]) {
    %f, _, _ = loop trips=%n states=(%x, %x) { body(%i, %go, %a, %b) {
      %c, _, _ = loop trips=%n states=(%a, %b) { body(%j, %on, %p, %q) {
        %r = exp(%p)
        %s = neg(%q)
        yield go=%on states=(%r, %s) } }
      %d = neg(%b)
      yield go=%go states=(%c, %d) } }
    yield %f })g",
                 R"g(graph "g" (%x: f32[], %n: i64[]) {
    %f, _ = loop trips=%n states=(%x) { body(%i, %go, %a) {
      %c, _ = loop trips=%n states=(%a) { body(%j, %on, %p) {
        %r = exp(%p)
        yield go=%on states=(%r) } }
      yield go=%go states=(%c) } }
    yield %f })g");
}

TEST(RemoveDeadLoopParts, StacksThatNothingReadsAndWhatOnlyTheyNeed) {
  expect_rewrite(remove_dead_loop_parts, R"g(graph "g" (%x: f32[], %n: i64[]) {
    %f, _, _, %t, %u, _ = loop trips=%n states=(%x, %x) stacks=3 { body(%i, %go, %a, %b) {
      %p = neg(%a)
      %q = exp(%b)
      %r = abs(%p)
      %s = mul(%a, %b)
      yield go=%go states=(%p, %q) items=(%s, %r, %q) } }
    yield %f, %t })g",
                 R"g(graph "g" (%x: f32[], %n: i64[]) {
    %f, %t, _ = loop trips=%n states=(%x) { body(%i, %go, %a) {
      %p = neg(%a)
      %r = abs(%p)
      yield go=%go states=(%p) items=(%r) } }
    yield %f, %t })g");
}

TEST(RemoveDeadLoopParts, OfALoopThatNobodyReads) {
  expect_rewrite(remove_dead_loop_parts, R"g(graph "g" (%x: f32[], %n: i64[]) {
    _, _ = loop trips=%n states=(%x) { body(%i, %go, %a) {
      %p = neg(%a)
      yield go=%go states=(%p) } }
    yield %x })g",
                 R"g(graph "g" (%x: f32[], %n: i64[]) {
    yield %x })g");
}

TEST(RemoveDeadLoopParts, WhatEndsTheLoopIsStackedOrReadByAnotherStateStays) {
  expect_untouched(remove_dead_loop_parts, R"g(graph "g" (%x: f32[], %n: i64[], %y: bool[]) {
    %f, _, _, _, %s, _ = loop trips=%n go=%y states=(%x, %x, %x, %x) { body(%i, %go, %a, %b, %c, %d) {
      %p = add(%a, %b)
      %q = neg(%b)
      %r = exp(%c)
      %on = less(%r, %x)
      %t = abs(%d)
      yield go=%on states=(%p, %q, %r, %t) items=(%d) } }
    yield %f, %s })g");
}

TEST(RemoveDeadLoopParts, WhatACheckReadsStays) {
  expect_untouched(remove_dead_loop_parts, R"g(graph "g" (%x: f32[], %n: i64[]) {
    %f, _, _ = loop trips=%n states=(%x, %x) { body(%i, %go, %a, %b) {
      %p = neg(%a)
      %q = exp(%b)
      %large = less(%x, %q)
      assertion(%large) message="too large"
      yield go=%go states=(%p, %q) } }
    yield %f })g");
}

TEST(RemoveDeadLoopParts, WhatABranchReadsStays) {
  expect_untouched(remove_dead_loop_parts, R"g(graph "g" (%x: f32[], %n: i64[], %c: bool[]) {
    %f, _, _ = loop trips=%n states=(%x, %x) { body(%i, %go, %a, %b) {
      %p = if(%c) { then { %q = neg(%b) yield %q } else { yield %a } }
      %r = exp(%b)
      yield go=%go states=(%p, %r) } }
    yield %f })g");
}

}  // namespace
}  // namespace rondel::passes
