// a*b+c becomes one fma if the product has no other reader.
#include "passes/fuse_multiply_add.h"

#include "passes/pass_case.h"
#include "passes/remove_dead.h"

namespace rondel::passes {
namespace {

/// Products that become unread are left for remove_dead.
bool contracted(ir::Graph& g) {
  const bool changed = fuse_multiply_add(g);
  remove_dead(g);
  return changed;
}

TEST(FuseMultiplyAdd, OnEitherSideOfASumOrADifference) {
  expect_rewrite(contracted, R"g(graph "g" (%a: f32[N], %b: f32[N], %c: f64[], %d: f64[]) {
    %p = mul(%a, %b)
    %left = add(%p, %a)
    %q = mul(%a, %b)
    %right = add(%b, %q)
    %r = mul(%c, %d)
    %less = sub(%r, %c)
    %s = mul(%c, %d)
    %from = sub(%c, %s)
    yield %left, %right, %less, %from })g",
                 R"g(graph "g" (%a: f32[N], %b: f32[N], %c: f64[], %d: f64[]) {
    %left = fma(%a, %b, %a)
    %right = fma(%a, %b, %b)
    %#0 = neg(%c)
    %less = fma(%c, %d, %#0)
    %#1 = neg(%c)
    %from = fma(%#1, %d, %c)
    yield %left, %right, %less, %from })g");
}

// It gives 0 where the product is -0, and another addend may be -0.
TEST(FuseMultiplyAdd, NotWithAProductToWhichSomethingIsAdded) {
  for (const std::string added : {"0", "1"})
    expect_untouched(contracted, R"g(graph "g" (%a: f32[N, 1], %b: f32[M], %c: f32[N, M]) {
    %added = constant value=f32[] {)g" +
                                     added + R"g(}
    %outer = fma(%a, %b, %added)
    %sum = add(%c, %outer)
    yield %sum })g");
}

TEST(FuseMultiplyAdd, OfTwoProductsTheFirst) {
  expect_rewrite(contracted, R"g(graph "g" (%a: f32[], %b: f32[]) {
    %p = mul(%a, %a)
    %q = mul(%b, %b)
    %y = add(%p, %q)
    yield %y })g",
                 R"g(graph "g" (%a: f32[], %b: f32[]) {
    %q = mul(%b, %b)
    %y = fma(%a, %a, %q)
    yield %y })g");
}

TEST(FuseMultiplyAdd, InsideOfALoop) {
  expect_rewrite(contracted, R"g(graph "g" (%n: i64[], %x: f32[]) {
    %y, _ = loop trips=%n states=(%x) { body(%i, %go, %s) {
      %p = mul(%s, %x)
      %t = add(%p, %x)
      yield go=%go states=(%t) } }
    yield %y })g",
                 R"g(graph "g" (%n: i64[], %x: f32[]) {
    %y, _ = loop trips=%n states=(%x) { body(%i, %go, %s) {
      %t = fma(%s, %x, %x)
      yield go=%go states=(%t) } }
    yield %y })g");
}

struct Left {
  const char *what, *graph;
};
class StaysAProduct : public ::testing::TestWithParam<Left> {};

TEST_P(StaysAProduct, where) {
  SCOPED_TRACE(GetParam().what);
  expect_untouched(contracted, GetParam().graph);
}

INSTANTIATE_TEST_SUITE_P(
    FuseMultiplyAdd, StaysAProduct,
    ::testing::Values(Left{"it is read twice", R"g(graph "g" (%a: f32[], %b: f32[]) {
          %p = mul(%a, %b) %y = add(%p, %a) %z = neg(%p) yield %y, %z })g"},
                      Left{"both sides of the sum are it", R"g(graph "g" (%a: f32[], %b: f32[]) {
          %p = mul(%a, %b) %y = add(%p, %p) yield %y })g"},
                      Left{"it is a result", R"g(graph "g" (%a: f32[], %b: f32[]) {
          %p = mul(%a, %b) %y = add(%p, %a) yield %y, %p })g"},
                      Left{"it is made outside of the loop",
                           R"g(graph "g" (%n: i64[], %a: f32[], %b: f32[]) {
          %p = mul(%a, %b)
          %y, _ = loop trips=%n states=(%a) { body(%i, %go, %s) {
            %t = add(%p, %s) yield go=%go states=(%t) } }
          yield %y })g"},
                      Left{"integers have no rounding", R"g(graph "g" (%a: i64[], %b: i64[]) {
          %p = mul(%a, %b) %y = add(%p, %a) yield %y })g"},
                      Left{"f16 rounds after every op", R"g(graph "g" (%a: f16[], %b: f16[]) {
          %p = mul(%a, %b) %y = add(%p, %a) yield %y })g"},
                      Left{"it is no product", R"g(graph "g" (%a: f32[], %b: f32[]) {
          %p = div(%a, %b) %y = add(%p, %a) yield %y })g"}));

}  // namespace
}  // namespace rondel::passes
