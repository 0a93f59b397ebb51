// Random numbers depend on the run's seed, the node's number and the trip indices of the loops
// around.
#include "passes/key_random_ops.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

TEST(KeyRandomOps, ByNumberAndByTheTripsAround) {
  expect_rewrite(key_random_ops, R"g(graph "g" (%n: i64[], %c: bool[]) {
    inputs ["n", "c"]
    %a = random_key()
    %b = random_key() seed=2.0
    %s, _ = loop trips=%n { body(%i, %go) {
      %k = random_key()
      %t, _ = loop trips=%n { body(%j, %on) {
        %q = if(%c) { then { %z = random_key() yield %z } else { yield %k } }
        yield go=%on items=(%q) } }
      yield go=%go items=(%t) } }
    yield %a, %b, %s })g",
                 R"g(graph "g" (%n: i64[], %c: bool[], %seed: u64[]) {
    role %seed = seed
    inputs ["n", "c", "seed"]
    %#0 = constant value=i64[] {3}
    %#1 = constant value=i64[] {2}
    %#2 = constant value=i64[] {1}
    %#3 = constant value=i64[] {0}
    %a = random_key(%seed, %#3)
    %b = random_key(%seed, %#2) seed=2.0
    %s, _ = loop trips=%n { body(%i, %go) {
      %k = random_key(%seed, %#1, %i)
      %t, _ = loop trips=%n { body(%j, %on) {
        %q = if(%c) { then { %z = random_key(%seed, %#0, %i, %j) yield %z } else { yield %k } }
        yield go=%on items=(%q) } }
      yield go=%go items=(%t) } }
    yield %a, %b, %s })g");
}

TEST(KeyRandomOps, NumbersThatAreTakenStayTheirs) {
  expect_rewrite(key_random_ops, R"g(graph "g" (%s: u64[], %x: f32[]) {
    role %s = seed
    %k = constant value=i64[] {4}
    %a = random_key(%s, %k)
    %b = random_key()
    yield %a, %b })g",
                 R"g(graph "g" (%s: u64[], %x: f32[]) {
    role %s = seed
    %#0 = constant value=i64[] {5}
    %k = constant value=i64[] {4}
    %a = random_key(%s, %k)
    %b = random_key(%s, %#0)
    yield %a, %b })g");
}

TEST(KeyRandomOps, WhatDrawsNothingGetsNoSeed) {
  expect_untouched(key_random_ops, R"g(graph "g" (%key: u64[], %low: f32[], %n: i64[]) {
    %shape = constant value=i64[1] {3}
    %u = uniform(%key, %low, %low, %shape)
    %y, _ = loop trips=%n states=(%u) { body(%i, %go, %s) { %t = neg(%s) yield go=%go states=(%t) } }
    yield %y })g");
}

}  // namespace
}  // namespace rondel::passes
