#include "passes/narrow_elements.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

const AnyPass pass = narrow_elements;

TEST(NarrowElements, AConditionOfWhatIsSqueezed) {
  expect_rewrite(pass,
                 R"g(graph "g" (%token: i64[n], %more: bool[], %end: i64[]) {
    %last = squeeze(%token)
    %ended = equal(%last, %end)
    %not = not(%ended)
    %both = and(%more, %not)
    %go = one_element(%both) what="the condition"
    yield %go
  })g",
                 R"g(graph "g" (%token: i64[n], %more: bool[], %end: i64[]) {
    %#0 = one_element(%token) what="the condition"
    %ended = equal(%#0, %end)
    %not = not(%ended)
    %both = and(%more, %not)
    yield %both
  })g");
}

TEST(NarrowElements, EachOperandIsNarrowed) {
  expect_rewrite(pass,
                 R"g(graph "g" (%a: f32[?], %b: f32[?, 1], %p: bool[1]) {
    %s = where(%p, %a, %b)
    %x = one_element(%s)
    yield %x
  })g",
                 R"g(graph "g" (%a: f32[?], %b: f32[?, 1], %p: bool[1]) {
    %#0 = one_element(%p)
    %#1 = one_element(%a)
    %#2 = one_element(%b)
    %s = where(%#0, %#1, %#2)
    yield %s
  })g");
}

/// What others read, what certainly is one element, what cannot be one, and what may fail
/// otherwise.
TEST(NarrowElements, OthersStay) {
  expect_untouched(pass, R"g(graph "g" (%a: f32[?], %one: f32[1], %two: f32[2], %s: i64[1]) {
    %read = neg(%a)
    %0 = one_element(%read)
    %known = neg(%one)
    %1 = one_element(%known)
    %some = add(%a, %one)
    %sum = reduce_sum(%some) keepdims=0
    %kept = reduce_sum(%some)
    %2 = one_element(%kept)
    %shaped = reshape(%a, %s)
    %3 = one_element(%shaped)
    yield %0, %1, %2, %3, %read, %sum })g");
}

}  // namespace
}  // namespace rondel::passes
