#include "passes/compare_integers.h"

#include "passes/pass_case.h"

#include <fmt/format.h>

namespace rondel::passes {
namespace {

const AnyPass pass = compare_integers;

TEST(CompareIntegers, WithANumber) {
  expect_rewrite(pass,
                 R"g(graph "g" (%i: i64[], %k: i32[N]) {
    %c = constant value=f32[] {2.5}
    %d = constant value=f64[1] {-0.5}
    %f = convert(%i) to=type f32[]
    %h = convert(%k) to=type f64[]
    %below = less(%f, %c)
    %most = less_or_equal(%f, %c)
    %above = greater(%f, %c)
    %least = greater_or_equal(%f, %c)
    %mirrored = less(%d, %h)
    yield %below, %most, %above, %least, %mirrored
  })g",
                 R"g(graph "g" (%i: i64[], %k: i32[N]) {
  %c: f32[] = constant value=f32[] {2.5}
  %d: f64[1] = constant value=f64[1] {-0.5}
  %f: f32[] = convert(%i) to=type f32[]
  %h: f64[N] = convert(%k) to=type f64[]
  %#0: i64[] = constant value=i64[] {3}
  %below: bool[] = less(%i, %#0)
  %#1: i64[] = constant value=i64[] {2}
  %most: bool[] = less_or_equal(%i, %#1)
  %#2: i64[] = constant value=i64[] {2}
  %above: bool[] = greater(%i, %#2)
  %#3: i64[] = constant value=i64[] {3}
  %least: bool[] = greater_or_equal(%i, %#3)
  %#4: i32[1] = constant value=i32[1] {-1}
  %mirrored: bool[N] = less(%#4, %k)
  yield %below, %most, %above, %least, %mirrored
})g");
}

TEST(CompareIntegers, NotWhereTheFloatsAreRounded) {
  for (const char* limit : {"16777216", "-16777216", "nan", "inf"})
    expect_untouched(pass, fmt::format(R"g(graph "g" (%i: i64[]) {{
    %c = constant value=f32[] {{{}}}
    %f = convert(%i) to=type f32[]
    %b = less(%f, %c)
    yield %b
  }})g",
                                       limit));
  // 2^40 is no number of 32 bits; bytes have no such integers; floats are no integers.
  expect_untouched(pass, R"g(graph "g" (%i: i32[], %j: i8[], %x: f16[], %limit: f32[]) {
    %c = constant value=f64[] {1099511627776}
    %f = convert(%i) to=type f64[]
    %b = less(%f, %c)
    %d = constant value=f32[] {300}
    %e = convert(%j) to=type f32[]
    %p = less(%e, %d)
    %h = convert(%x) to=type f32[]
    %q = less(%h, %d)
    %k = convert(%i) to=type f32[]
    %r = less(%k, %limit)
    %s = equal(%k, %d)
    yield %b, %p, %q, %r, %s
  })g");
}

}  // namespace
}  // namespace rondel::passes
