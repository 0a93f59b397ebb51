// Trips in which states change their ranks are taken out of loops.
#include "passes/peel_loops.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

TEST(PeelLoops, TheFirstTripOfACertainNumberIsComputedBeforeTheOthers) {
  expect_rewrite(peel_loops, R"g(graph "g" (%x: f32[4]) {
    %n = constant value=i64[] {5}
    %z = constant value=f32[] {0}
    %y, _ = loop trips=%n states=(%z) {
      body(%i, %go, %s) {
        %t = add(%s, %x)
        yield go=%go states=(%t) } }
    yield %y })g",
                 R"g(graph "g" (%x: f32[4]) {
    yield %x })g");
}

}  // namespace
}  // namespace rondel::passes
