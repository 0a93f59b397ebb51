// States that are only used to compute their own next values are removed.
#include "passes/remove_dead_states.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

TEST(RemoveDeadStates, AndWhatComputesThem) {
  expect_rewrite(remove_dead_states, R"g(graph "g" (%x: f32[2], %n: i64[], %z: f32[]) {
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

TEST(RemoveDeadStates, ThatReadEachOther) {
  expect_rewrite(remove_dead_states, R"g(graph "g" (%x: f32[], %n: i64[]) {
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

TEST(RemoveDeadStates, OfInnerLoopsAndThoseThatOnlyThatReads) {
  expect_rewrite(remove_dead_states, R"g(graph "g" (%x: f32[], %n: i64[]) {
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

TEST(RemoveDeadStates, OfALoopThatNobodyReads) {
  expect_rewrite(remove_dead_states, R"g(graph "g" (%x: f32[], %n: i64[]) {
    _, _ = loop trips=%n states=(%x) { body(%i, %go, %a) {
      %p = neg(%a)
      yield go=%go states=(%p) } }
    yield %x })g",
                 R"g(graph "g" (%x: f32[], %n: i64[]) {
    yield %x })g");
}

TEST(RemoveDeadStates, WhatEndsTheLoopIsStackedOrReadByAnotherStateStays) {
  expect_untouched(remove_dead_states, R"g(graph "g" (%x: f32[], %n: i64[], %y: bool[]) {
    %f, _, _, _, %s, _ = loop trips=%n go=%y states=(%x, %x, %x, %x) { body(%i, %go, %a, %b, %c, %d) {
      %p = add(%a, %b)
      %q = neg(%b)
      %r = exp(%c)
      %on = less(%r, %x)
      %t = abs(%d)
      yield go=%on states=(%p, %q, %r, %t) items=(%d) } }
    yield %f, %s })g");
}

TEST(RemoveDeadStates, WhatACheckReadsStays) {
  expect_untouched(remove_dead_states, R"g(graph "g" (%x: f32[], %n: i64[]) {
    %f, _, _ = loop trips=%n states=(%x, %x) { body(%i, %go, %a, %b) {
      %p = neg(%a)
      %q = exp(%b)
      %large = less(%x, %q)
      assertion(%large) message="too large"
      yield go=%go states=(%p, %q) } }
    yield %f })g");
}

TEST(RemoveDeadStates, WhatABranchReadsStays) {
  expect_untouched(remove_dead_states, R"g(graph "g" (%x: f32[], %n: i64[], %c: bool[]) {
    %f, _, _ = loop trips=%n states=(%x, %x) { body(%i, %go, %a, %b) {
      %p = if(%c) { then { %q = neg(%b) yield %q } else { yield %a } }
      %r = exp(%b)
      yield go=%go states=(%p, %r) } }
    yield %f })g");
}

}  // namespace
}  // namespace rondel::passes
