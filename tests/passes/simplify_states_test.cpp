// States whose values are known without carrying them are left out.
#include "passes/simplify_states.h"

#include "passes/pass_case.h"
#include "passes/remove_dead.h"

namespace rondel::passes {
namespace {

/// Without the nodes that only computed the states.
bool simplified(ir::Graph& g) {
  const bool changed = simplify_states(g);
  return remove_dead(g) || changed;
}

TEST(SimplifyStates, WhatABodyHandsOnIsCaptured) {
  expect_rewrite(simplified, R"g(graph "g" (%x: f32[2], %w: f32[2], %n: i64[]) {
    %y, %v, _ = loop trips=%n states=(%x, %w) { body(%i, %go, %a, %b) {
      %c = mul(%a, %b)
      yield go=%go states=(%c, %b) } }
    yield %y, %v })g",
                 R"g(graph "g" (%x: f32[2], %w: f32[2], %n: i64[]) {
    %y, _ = loop trips=%n states=(%x) { body(%i, %go, %a) {
      %c = mul(%a, %w)
      yield go=%go states=(%c) } }
    yield %y, %w })g");
}

TEST(SimplifyStates, SoIsWhatBecomesItsInitialValue) {
  expect_rewrite(simplified, R"g(graph "g" (%x: f32[2], %w: f32[2], %n: i64[]) {
    %k = constant value=f32[] {2}
    %y, _, %v, _ = loop trips=%n states=(%x, %w, %k) { body(%i, %go, %a, %b, %l) {
      %m = constant value=f32[] {2}
      %c = mul(%a, %b)
      %d = mul(%c, %l)
      yield go=%go states=(%d, %w, %m) } }
    yield %y, %v })g",
                 R"g(graph "g" (%x: f32[2], %w: f32[2], %n: i64[]) {
    %k = constant value=f32[] {2}
    %y, _ = loop trips=%n states=(%x) { body(%i, %go, %a) {
      %c = mul(%a, %w)
      %d = mul(%c, %k)
      yield go=%go states=(%d) } }
    yield %y, %k })g");
}

TEST(SimplifyStates, WhatBecomesSomethingElseStays) {
  expect_untouched(simplify_states,
                   R"g(graph "g" (%x: f32[2], %w: f32[2], %n: i64[], %l: seq<f32[2]>) {
    %k = constant value=f32[] {0}
    %y, %p, %q, %s, _ = loop trips=%n states=(%x, %w, %k, %l) { body(%i, %go, %a, %b, %c, %d) {
      %m = constant value=f32[] {-0}
      %e = add(%b, %c)
      yield go=%go states=(%e, %x, %m, %d) } }
    yield %y, %p, %q, %s })g");
}

TEST(SimplifyStates, ACounterIsTheTripIndex) {
  expect_rewrite(simplified, R"g(graph "g" (%n: i64[]) {
    %zero = constant value=i64[] {0}
    %c, %t, _ = loop trips=%n states=(%zero) { body(%i, %go, %a) {
      %one = constant value=i64[] {1}
      %b = add(%one, %a)
      yield go=%go states=(%b) items=(%a) } }
    yield %c, %t })g",
                 R"g(graph "g" (%n: i64[]) {
    %t, %#0 = loop trips=%n { body(%i, %go) {
      yield go=%go items=(%i) } }
    yield %#0, %t })g");
}

TEST(SimplifyStates, AnIntegerThatStepsIsAFunctionOfTheTripIndex) {
  expect_rewrite(simplified, R"g(graph "g" (%n: i64[], %s: i32[]) {
    %c, %t, _ = loop trips=%n states=(%s) { body(%i, %go, %a) {
      %three = constant value=i32[] {3}
      %b = sub(%a, %three)
      yield go=%go states=(%b) items=(%b) } }
    yield %c, %t })g",
                 R"g(graph "g" (%n: i64[], %s: i32[]) {
    %t, %#0 = loop trips=%n { body(%i, %go) {
      %#1 = convert(%i) to=type i32[]
      %#2 = constant value=i32[] {-3}
      %#3 = mul(%#1, %#2)
      %#4 = add(%#3, %s)
      %three = constant value=i32[] {3}
      %b = sub(%#4, %three)
      yield go=%go items=(%b) } }
    %#5 = convert(%#0) to=type i32[]
    %#6 = constant value=i32[] {-3}
    %#7 = mul(%#5, %#6)
    %#8 = add(%#7, %s)
    yield %#8, %t })g");
}

TEST(SimplifyStates, ThroughReshapesAndWiderIntegers) {
  expect_rewrite(simplified, R"g(graph "g" (%n: i64[]) {
    %zero = constant value=i32[1] {0}
    _, %t, _ = loop trips=%n states=(%zero) { body(%i, %go, %a) {
      %one = constant value=i64[] {1}
      %none = constant value=i64[0] {}
      %ones = constant value=i64[1] {1}
      %b = reshape(%a, %none)
      %c = convert(%b) to=type i64[]
      %d = add(%c, %one)
      %e = convert(%d) to=type i32[]
      %f = reshape(%e, %ones)
      yield go=%go states=(%f) items=(%a) } }
    yield %t })g",
                 R"g(graph "g" (%n: i64[]) {
    %t, _ = loop trips=%n { body(%i, %go) {
      %#0 = convert(%i) to=type i32[]
      %#1 = constant value=i64[1] {1}
      %#2 = reshape(%#0, %#1)
      yield go=%go items=(%#2) } }
    yield %t })g");
}

TEST(SimplifyStates, WhatStepsOtherwiseStays) {
  for (const std::string step :
       {"%b = add(%a, %s)", "%b = add(%a, %a)", "%b = mul(%a, %two)", "%b = add(%i, %two)",
        "%c = convert(%a) to=type i32[] %d = convert(%c) to=type i64[] %b = add(%d, %two)",
        "%c = convert(%a) to=type f64[] %d = convert(%c) to=type i64[] %b = add(%d, %two)"})
    expect_untouched(simplify_states, R"g(graph "g" (%n: i64[], %s: i64[], %v: i64[]) {
    %two = constant value=i64[] {2}
    %f, _ = loop trips=%n states=(%v) { body(%i, %go, %a) {
      )g" + step + R"g(
      yield go=%go states=(%b) } }
    yield %f })g");
  expect_untouched(simplify_states, R"g(graph "g" (%n: i64[], %v: i64[2], %s: f32[]) {
    %two = constant value=i64[] {2}
    %one = constant value=f32[] {1}
    %f, %h, _ = loop trips=%n states=(%v, %s) { body(%i, %go, %a, %b) {
      %c = add(%a, %two)
      %d = add(%b, %one)
      yield go=%go states=(%c, %d) } }
    yield %f, %h })g");
}

TEST(SimplifyStates, OfTwoEqualStatesOneRemains) {
  expect_rewrite(simplified, R"g(graph "g" (%x: f32[2], %n: i64[]) {
    %k = constant value=f32[2] {0, 0}
    %l = constant value=f32[2] {0, 0}
    _, %y, %z, _ = loop trips=%n states=(%k, %x, %l) { body(%i, %go, %a, %b, %c) {
      %p = exp(%a)
      %q = exp(%c)
      %r = add(%b, %a)
      %s = add(%r, %c)
      yield go=%go states=(%p, %s, %q) } }
    yield %y, %z })g",
                 R"g(graph "g" (%x: f32[2], %n: i64[]) {
    %k = constant value=f32[2] {0, 0}
    %#0, %y, _ = loop trips=%n states=(%k, %x) { body(%i, %go, %a, %b) {
      %p = exp(%a)
      %r = add(%b, %a)
      %s = add(%r, %a)
      yield go=%go states=(%p, %s) } }
    yield %y, %#0 })g");
}

TEST(SimplifyStates, EqualStatesReadEachOther) {
  expect_rewrite(simplified, R"g(graph "g" (%x: f32[2], %n: i64[]) {
    %y, %z, _ = loop trips=%n states=(%x, %x) { body(%i, %go, %a, %b) {
      %p = exp(%b)
      %q = exp(%a)
      yield go=%go states=(%p, %q) } }
    yield %y, %z })g",
                 R"g(graph "g" (%x: f32[2], %n: i64[]) {
    %y, _ = loop trips=%n states=(%x) { body(%i, %go, %a) {
      %p = exp(%a)
      yield go=%go states=(%p) } }
    yield %y, %y })g");
}

TEST(SimplifyStates, StatesThatDifferLaterStay) {
  expect_untouched(simplify_states, R"g(graph "g" (%x: f32[2], %w: f32[2], %n: i64[]) {
    %y, %z, %u, %v, _ = loop trips=%n states=(%x, %x, %x, %w) { body(%i, %go, %a, %b, %c, %d) {
      %p = exp(%c)
      %q = exp(%b)
      %r = neg(%c)
      %s = exp(%d)
      yield go=%go states=(%p, %q, %r, %s) } }
    yield %y, %z, %u, %v })g");
}

TEST(SimplifyStates, OfInnerLoops) {
  expect_rewrite(simplified, R"g(graph "g" (%x: f32[2], %w: f32[2], %n: i64[]) {
    %y, _, _ = loop trips=%n states=(%x, %w) { body(%i, %go, %a, %b) {
      %c, %d, _ = loop trips=%n states=(%a, %b) { body(%j, %on, %p, %q) {
        %r = mul(%p, %q)
        yield go=%on states=(%r, %q) } }
      yield go=%go states=(%c, %d) } }
    yield %y })g",
                 R"g(graph "g" (%x: f32[2], %w: f32[2], %n: i64[]) {
    %y, _ = loop trips=%n states=(%x) { body(%i, %go, %a) {
      %c, _ = loop trips=%n states=(%a) { body(%j, %on, %p) {
        %r = mul(%p, %w)
        yield go=%on states=(%r) } }
      yield go=%go states=(%c) } }
    yield %y })g");
}

}  // namespace
}  // namespace rondel::passes
