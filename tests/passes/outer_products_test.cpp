// Products of columns and rows become multiplications.
#include "passes/outer_products.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

TEST(OuterProducts, OfColumnsAndRowsAreComputedByElement) {
  expect_rewrite(outer_products, R"g(graph "g" (%a: f32[M, 1], %b: f32[4, 1, N], %c: i64[1, M]) {
    %y = mat_mul(%a, %b)
    %z = mat_mul(%c, %c) transpose_a=1
    yield %y, %z })g",
                 R"g(graph "g" (%a: f32[M, 1], %b: f32[4, 1, N], %c: i64[1, M]) {
    %#0 = mul(%a, %b)
    %#1 = constant value=f32[] {0}
    %y = add(%#0, %#1)
    %#2 = transpose(%c) perm=[1, 0]
    %z = mul(%#2, %c)
    yield %y, %z })g");
}

TEST(OuterProducts, WithBothOperandsTransposed) {
  expect_rewrite(outer_products, R"g(graph "g" (%a: f64[5, 1, M], %b: f64[N, 1]) {
    %y = mat_mul(%a, %b) transpose_a=1 transpose_b=1
    yield %y })g",
                 R"g(graph "g" (%a: f64[5, 1, M], %b: f64[N, 1]) {
    %#0 = transpose(%a) perm=[0, 2, 1]
    %#1 = transpose(%b) perm=[1, 0]
    %#2 = mul(%#0, %#1)
    %#3 = constant value=f64[] {0}
    %y = add(%#2, %#3)
    yield %y })g");
}

TEST(OuterProducts, OtherProductsStay) {
  for (const std::string types :
       {"%a: f32[M, 2], %b: f32[2, N]", "%a: f32[M, K], %b: f32[K, N]", "%a: f32[1], %b: f32[1, N]",
        "%a: f16[M, 1], %b: f16[1, N]", "%a: f32[M, ?], %b: f32[1, N]"})
    expect_untouched(outer_products,
                     "graph \"g\" (" + types + ") {\n%y = mat_mul(%a, %b)\nyield %y }");
}

}  // namespace
}  // namespace rondel::passes
