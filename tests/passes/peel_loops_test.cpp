// Trips in which states change their ranks are taken out of loops.
#include "passes/peel_loops.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

TEST(PeelLoops, ACertainFirstTripIsComputedBeforeTheOthers) {
  expect_rewrite(peel_loops, R"g(graph "g" (%x: f32[4]) {
    %n = constant value=i64[] {5}
    %z = constant value=f32[] {0}
    %y, _ = loop trips=%n states=(%z) {
      body(%i, %go, %s) {
        %t = add(%s, %x)
        yield go=%go states=(%t) } }
    yield %y })g",
                 R"g(graph "g" (%x: f32[4]) {
    %n = constant value=i64[] {5}
    %z = constant value=f32[] {0}
    %t = add(%z, %x)
    %#0 = constant value=i64[] {1}
    %#1 = sub(%n, %#0)
    %y, _ = loop trips=%#1 states=(%t) {
      body(%i, %go, %s) {
        %t#1 = add(%s, %x)
        yield go=%go states=(%t#1) } }
    yield %y })g");
}

// The others count from 1. Of what is scanned in reverse, the first trip reads the last element.
// In a reversed stack, its item is the last one.
TEST(PeelLoops, TheOtherTripsScanAndStackWhatIsLeft) {
  expect_rewrite(peel_loops, R"g(graph "g" (%x: f32[n, 4], %n: i64[], %c: bool[]) {
    %z = constant value=f32[] {0}
    %y, %all, %count = loop trips=%n go=%c states=(%z) scans=(%x) reverse_in=[1] reverse_out=[1] {
      body(%i, %go, %s, %e) {
        %f = cast(%i) to=type f32[]
        %g = mul(%e, %f)
        %t = add(%s, %g)
        %d = neg(%g)
        yield go=%go states=(%t) items=(%d) } }
    yield %y, %all, %count })g",
                 R"g(graph "g" (%x: f32[n, 4], %n: i64[], %c: bool[]) {
    %z = constant value=f32[] {0}
    %#0 = constant value=i64[] {0}
    %#1 = greater(%n, %#0)
    %#2 = and(%#1, %c)
    %y: f32[...], %all: f32[$v65.0, 4], %count: i64[] = if(%#2) {
      then {
        %#3 = constant value=i64[] {0}
        %#4 = constant value=bool[] {true}
        %#5 = constant value=i64[] {0}
        %#6 = constant value=i64[] {-1}
        %#7 = sub(%#6, %#5)
        %#8 = gather(%x, %#7)
        %f = cast(%#3) to=type f32[]
        %g = mul(%#8, %f)
        %t = add(%z, %g)
        %d = neg(%g)
        %#9 = constant value=i64[] {1}
        %#10 = sub(%n, %#9)
        %y#1, %all#1, %count#1 = loop trips=%#10 go=%#4 states=(%t) reverse_out=[1] {
          body(%i, %go, %s) {
            %#11 = constant value=i64[] {1}
            %#12 = add(%i, %#11)
            %#13 = constant value=i64[] {-1}
            %#14 = sub(%#13, %#12)
            %#15 = gather(%x, %#14)
            %f#1 = cast(%#12) to=type f32[]
            %g#1 = mul(%#15, %f#1)
            %t#1 = add(%s, %g#1)
            %d#1 = neg(%g#1)
            yield go=%go states=(%t#1) items=(%d#1)
          }
        }
        %#16 = constant value=i64[1] {0}
        %#17 = unsqueeze(%d, %#16)
        %#18: f32[$v48.0, 4] = concat(%all#1, %#17) axis=0
        %#19 = constant value=i64[] {1}
        %#20 = add(%count#1, %#19)
        yield %y#1, %#18, %#20
      }
      else {
        %#21 = constant value=i64[] {0}
        %#22 = constant value=i64[] {0}
        %y#2, %all#2, %count#2 = loop trips=%#22 go=%c states=(%z) scans=(%x) reverse_in=[1] reverse_out=[1] {
          body(%i#1, %go#1, %s#1, %e) {
            %f#2 = cast(%i#1) to=type f32[]
            %g#2 = mul(%e, %f#2)
            %t#2 = add(%s#1, %g#2)
            %d#2 = neg(%g#2)
            yield go=%go#1 states=(%t#2) items=(%d#2)
          }
        }
        yield %y#2, %all#2, %count#2
      }
    }
    yield %y, %all, %count })g");
}

TEST(PeelLoops, AFewCertainTripsOfWhichEachChangesARankAreStraightCode) {
  expect_rewrite(peel_loops, R"g(graph "g" (%x: f32[4]) {
    %n = constant value=i64[] {2}
    %axis = constant value=i64[1] {0}
    %y, %all, %count = loop trips=%n states=(%x) {
      body(%i, %go, %s) {
        %t = unsqueeze(%s, %axis)
        yield go=%go states=(%t) items=(%i) } }
    yield %y, %all, %count })g",
                 R"g(graph "g" (%x: f32[4]) {
    %n = constant value=i64[] {2}
    %axis = constant value=i64[1] {0}
    %#0 = constant value=i64[] {0}
    %t = unsqueeze(%x, %axis)
    %#1 = constant value=i64[] {1}
    %y = unsqueeze(%t, %axis)
    %#2 = constant value=i64[1] {0}
    %#3 = unsqueeze(%#0, %#2)
    %#4 = constant value=i64[1] {0}
    %#5 = unsqueeze(%#1, %#4)
    %all = concat(%#3, %#5) axis=0
    %count = constant value=i64[] {2}
    yield %y, %all, %count })g");
}

std::string loop_with(const std::string& limits, const std::string& item) {
  return R"g(graph "g" (%x: f32[4], %n: i64[], %c: bool[]) {
    %z = constant value=f32[] {0}
    %none = constant value=i64[] {0}
    %few = constant value=i64[] {2}
    %many = constant value=i64[] {9}
    %axis = constant value=i64[1] {0}
    %y, %all, _ = loop )g" +
         limits + R"g( states=(%z) {
      body(%i, %go, %s) {
        %a = add(%s, %x)
        %u = unsqueeze(%s, %axis)
        yield go=%go )g" +
         item + R"g( } }
    yield %y, %all })g";
}

TEST(PeelLoops, WhatStays) {
  // an item has another shape in the first trip
  expect_untouched(peel_loops, loop_with("trips=%n", "states=(%a) items=(%s)"));
  // no trip is made
  expect_untouched(peel_loops, loop_with("trips=%none", "states=(%a) items=(%i)"));
  // the rank changes in each trip, and there are too many, or nothing tells how many
  expect_untouched(peel_loops, loop_with("trips=%many", "states=(%u) items=(%i)"));
  expect_untouched(peel_loops, loop_with("trips=%n", "states=(%u) items=(%i)"));
  expect_untouched(peel_loops, loop_with("trips=%few go=%c", "states=(%u) items=(%i)"));
  // the rank holds for two trips, but an extent that grows may turn out to be 1
  expect_untouched(peel_loops, R"g(graph "g" (%x: f32[2], %n: i64[]) {
    %y, _ = loop trips=%n states=(%x) {
      body(%i, %go, %s) {
        %d = concat(%s, %s) axis=0
        %t = squeeze(%d)
        yield go=%go states=(%t) } }
    yield %y })g");
  // an item has one type in two trips, but no known one in later trips
  expect_untouched(peel_loops, R"g(graph "g" (%x: f32[4], %n: i64[]) {
    %z = constant value=f32[] {0}
    %begin = constant value=i64[1] {-4}
    %end = constant value=i64[1] {9223372036854775807}
    %y, _, %all, _ = loop trips=%n states=(%z, %x) {
      body(%i, %go, %s, %e) {
        %t = add(%s, %x)
        %l = slice(%e, %begin, %end)
        %f = concat(%e, %x) axis=0
        yield go=%go states=(%t, %f) items=(%l) } }
    yield %y, %all })g");
  // without a trip count, scans do not end it
  expect_untouched(peel_loops, R"g(graph "g" (%x: f32[4], %e: f32[3]) {
    %yes = constant value=bool[] {true}
    %axis = constant value=i64[1] {0}
    %y, _ = loop go=%yes states=(%x) scans=(%e) {
      body(%i, %go, %s, %q) {
        %t = unsqueeze(%s, %axis)
        yield go=%go states=(%t) } }
    yield %y })g");
  // ranks that hold
  expect_untouched(peel_loops, loop_with("trips=%n", "states=(%s) items=(%a)"));
}

}  // namespace
}  // namespace rondel::passes
