// Loops in loops that make few trips become the nodes of their trips.
#include "passes/unroll_loops.h"

#include "passes/pass_case.h"

#include <fmt/format.h>

namespace rondel::passes {
namespace {

/// An outer loop around `inner`, which may read %s, %x, %xs and constants.
std::string around(const std::string& inner) {
  return fmt::format(R"g(graph "g" (%x: f32[3], %xs: f32[2, 3], %n: i64[], %c: bool[]) {{
    %two = constant value=i64[] {{2}}
    %five = constant value=i64[] {{5}}
    %yes = constant value=bool[] {{true}}
    %y, _ = loop trips=%n states=(%x) {{
      body(%i, %go, %s) {{
        {}
        yield go=%go states=(%r) }} }}
    yield %y }})g",
                     inner);
}

TEST(UnrollLoops, StatesScansAndStacksOfAnInnerLoopAreThoseOfItsTrips) {
  expect_rewrite(unroll_loops, around(R"g(
        %z, %rows, %count = loop trips=%two states=(%s) scans=(%xs) axis_in=[0] reverse_in=[1] axis_out=[-1] {
          body(%j, %on, %t, %e) {
            %u = add(%t, %e)
            yield go=%on states=(%u) items=(%t) } }
        %axis = constant value=i64[1] {1}
        %sum = reduce_sum(%rows, %axis) keepdims=0
        %k = cast(%count) to=type f32[]
        %p = add(%z, %sum)
        %r = mul(%p, %k))g"),
                 around(R"g(
        %#0 = constant value=bool[] {true}
        %#1 = constant value=i64[] {0}
        %#2 = constant value=i64[] {1}
        %#3 = gather(%xs, %#2) axis=0
        %u = add(%s, %#3)
        %#4 = constant value=i64[] {1}
        %#5 = constant value=i64[] {0}
        %#6 = gather(%xs, %#5) axis=0
        %u#1 = add(%u, %#6)
        %#7 = constant value=i64[1] {1}
        %#8 = unsqueeze(%s, %#7)
        %#9 = constant value=i64[1] {1}
        %#10 = unsqueeze(%u, %#9)
        %#11 = concat(%#8, %#10) axis=1
        %#12 = constant value=i64[] {2}
        %axis = constant value=i64[1] {1}
        %sum = reduce_sum(%#11, %axis) keepdims=0
        %k = cast(%#12) to=type f32[]
        %p = add(%u#1, %sum)
        %r = mul(%p, %k))g"));
}

TEST(UnrollLoops, LoopsThatDataEndThatMakeMoreTripsOrHoldLoopsStay) {
  for (const char* bounds : {"trips=%five", "trips=%n", "trips=%two go=%c"})
    expect_untouched(unroll_loops, around(fmt::format(R"g(
        %r, _ = loop {} states=(%s) {{
          body(%j, %on, %t) {{
            %u = add(%t, %x)
            yield go=%on states=(%u) }} }})g",
                                                      bounds)));
  expect_untouched(unroll_loops, around(R"g(
        %r, _ = loop trips=%two states=(%s) {
          body(%j, %on, %t) {
            %u, _ = loop trips=%n states=(%t) {
              body(%k, %off, %v) {
                %w = add(%v, %x)
                yield go=%off states=(%w) } }
            yield go=%on states=(%u) } })g"));
  expect_untouched(unroll_loops, around(R"g(
        %r, _ = loop trips=%two go=%yes states=(%s) {
          body(%j, %on, %t) {
            %u = add(%t, %x)
            yield go=%c states=(%u) } })g"));
}

TEST(UnrollLoops, ALoopThatIsInNoOtherStays) {
  expect_untouched(unroll_loops, R"g(graph "g" (%x: f32[3]) {
    %two = constant value=i64[] {2}
    %y, _ = loop trips=%two states=(%x) {
      body(%i, %go, %s) {
        %r = add(%s, %x)
        yield go=%go states=(%r) } }
    yield %y })g");
}

TEST(UnrollLoops, AStackThatIsPaddedStays) {
  expect_untouched(unroll_loops, around(R"g(
        %rows, _ = loop trips=%two axis_out=[0] extents=(%five) {
          body(%j, %on) {
            yield go=%on items=(%s) } }
        %axis = constant value=i64[1] {0}
        %r = reduce_sum(%rows, %axis) keepdims=0)g"));
}

TEST(UnrollLoops, TheConditionThatABodyReadsIsTheOneThatItGaveLast) {
  expect_rewrite(unroll_loops, around(R"g(
        %q, _ = loop trips=%two states=(%s) {
          body(%j, %on, %t) {
            %k = cast(%on) to=type f32[]
            %u = mul(%t, %k)
            yield go=%c states=(%u) } }
        %r = neg(%q))g"),
                 around(R"g(
        %#0 = constant value=bool[] {true}
        %#1 = constant value=i64[] {0}
        %k = cast(%#0) to=type f32[]
        %u = mul(%s, %k)
        %#2 = constant value=i64[] {1}
        %k#1 = cast(%c) to=type f32[]
        %u#1 = mul(%u, %k#1)
        %#3 = constant value=i64[] {2}
        %r = neg(%u#1))g"));
}

}  // namespace
}  // namespace rondel::passes
