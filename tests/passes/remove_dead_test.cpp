// Unread nodes and identities are removed.
#include "passes/remove_dead.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

TEST(RemoveDead, ChainsAndLoopsThatNobodyReads) {
  expect_rewrite(remove_dead, R"g(graph "g" (%x: f32[2], %n: i64[]) {
    %a = neg(%x)
    %b = abs(%a)
    %l, _ = loop trips=%n states=(%b) { body(%i, %go, %s) { %t = neg(%s) yield go=%go states=(%t) } }
    %y = exp(%x)
    yield %y })g",
                 R"g(graph "g" (%x: f32[2], %n: i64[]) {
    %y = exp(%x)
    yield %y })g");
}

TEST(RemoveDead, InsideOfRegions) {
  expect_rewrite(remove_dead, R"g(graph "g" (%c: bool[], %n: i64[], %x: f32[]) {
    %k = neg(%x)
    %y, _ = loop trips=%n states=(%x) { body(%i, %go, %s) {
      %u = exp(%k)
      %t = if(%c) { then { %v = abs(%s) %w = abs(%v) yield %s } else { yield %x } }
      yield go=%go states=(%t) } }
    yield %y })g",
                 R"g(graph "g" (%c: bool[], %n: i64[], %x: f32[]) {
    %y, _ = loop trips=%n states=(%x) { body(%i, %go, %s) {
      %t = if(%c) { then { yield %s } else { yield %x } }
      yield go=%go states=(%t) } }
    yield %y })g");
}

TEST(RemoveDead, WhatIsReadAnywhereStays) {
  expect_untouched(remove_dead, R"g(graph "g" (%c: bool[], %n: i64[], %x: f32[4]) {
    %only_captured = neg(%x)
    %count = constant value=i64[] {3}
    %f, %s, %made = loop trips=%count states=(%x) { body(%i, %go, %a) {
      %b = add(%a, %only_captured)
      yield go=%go states=(%b) items=(%a) } }
    %one = constant value=i64[1] {1}
    %top, %at = top_k(%s, %one)
    yield %at })g");
}

TEST(RemoveDead, AChecksOwnWorkStays) {
  expect_untouched(remove_dead, R"g(graph "g" (%c: bool[], %x: f32[4]) {
    %d = not(%c)
    assertion(%d) message="no"
    yield %x })g");
}

TEST(ForwardIdentities, ReadersReadTheInputAndResultsKeepTheirNames) {
  expect_rewrite(forward_identities, R"g(graph "g" (%x: f32[2], %n: i64[]) {
    %e = identity(%x)
    %f = identity(%e)
    %a = neg(%f)
    %y = identity(%a)
    %l, _ = loop trips=%n states=(%f) { body(%i, %go, %s) {
      %k = identity(%go)
      %t = identity(%s)
      %u = add(%t, %e)
      yield go=%k states=(%u) } }
    yield %y, %l })g",
                 R"g(graph "g" (%x: f32[2], %n: i64[]) {
    %y = neg(%x)
    %l, _ = loop trips=%n states=(%x) { body(%i, %go, %s) {
      %u = add(%s, %x)
      yield go=%go states=(%u) } }
    yield %y, %l })g");
}

TEST(ForwardIdentities, AResultOfTwoNamesKeepsItsFirst) {
  expect_rewrite(forward_identities, R"g(graph "g" (%x: f32[2]) {
    %a = neg(%x)
    %y = identity(%a)
    yield %a, %y })g",
                 R"g(graph "g" (%x: f32[2]) {
    %a = neg(%x)
    yield %a, %a })g");
}

TEST(ForwardIdentities, WhatIsNoOptionalIsOpened) {
  expect_rewrite(forward_identities, R"g(graph "g" (%x: f32[2], %o: optional<f32[2]>) {
    %a = neg(%x)
    %b = optional_get_element(%a)
    %c = optional_get_element(%o)
    %y = add(%b, %c)
    yield %y })g",
                 R"g(graph "g" (%x: f32[2], %o: optional<f32[2]>) {
    %a = neg(%x)
    %c = optional_get_element(%o)
    %y = add(%a, %c)
    yield %y })g");
}

TEST(ForwardIdentities, OtherOpsStay) {
  expect_untouched(forward_identities, R"g(graph "g" (%x: f32[2]) {
    %one = constant value=f32[] {1}
    %a = mul(%x, %one)
    %b = cast(%a) to=type f32[]
    yield %b })g");
}

}  // namespace
}  // namespace rondel::passes
