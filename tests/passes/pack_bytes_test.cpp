// Operands of byte products that do not change are packed once.
#include "passes/pack_bytes.h"

#include "passes/pass_case.h"
#include "passes/remove_dead.h"

namespace rondel::passes {
namespace {

/// Packing alone; the constants that it makes are zeros.
bool packed(ir::Graph& g) {
  const bool changed = pack_bytes(g, [](const ir::Graph& of, ir::NodeId n, auto) {
    const ir::Type& t = of.value(of.node(n).outputs[0]).type;
    return std::vector<Value>{Tensor::zeros(t.dtype(), t.static_shape())};
  });
  remove_dead(g);
  return changed;
}

TEST(PackBytes, ConstantsArePackedWhenTheGraphIsCompiled) {
  expect_rewrite(packed, R"g(graph "g" (%x: u8[?, 2], %image: u8[1, 3, ?], %z: u8[]) {
    %w = constant value=i8[2, 1] {1, 2}
    %y = mat_mul_integer(%x, %w, %z)
    %k = constant value=u8[1, 3, 1] {1, 2, 3}
    %c = conv_integer(%image, %k)
    yield %y, %c })g",
                 R"g(graph "g" (%x: u8[?, 2], %image: u8[1, 3, ?], %z: u8[]) {
    %#0 = constant value=i32[1, 1, 32] {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
    %y = mat_mul_panels(%x, %#0, %z) columns=1 depth=2 signed=1
    %#1 = constant value=i32[1, 1, 1] {0}
    %c = conv_packed(%image, %#1) channels=3
    yield %y, %c })g");
}

TEST(PackBytes, WhatALoopDoesNotChangeIsPackedBeforeTheLoop) {
  expect_rewrite(packed, R"g(graph "g" (%n: i64[], %x: i8[1, 4], %w: i8[4, 4], %zero: i8[4]) {
    %y, _ = loop trips=%n stacks=1 { body(%i, %go) {
      %p = mat_mul_integer(%x, %w, _, %zero)
      yield go=%go items=(%p) } }
    yield %y })g",
                 R"g(graph "g" (%n: i64[], %x: i8[1, 4], %w: i8[4, 4], %zero: i8[4]) {
    %#0 = pack_panels(%w)
    %y, _ = loop trips=%n stacks=1 { body(%i, %go) {
      %p = mat_mul_panels(%x, %#0, _, %zero) columns=4 depth=4 signed=1
      yield go=%go items=(%p) } }
    yield %y })g");
}

TEST(PackBytes, OtherOperandsStay) {
  expect_untouched(
      packed,
      R"g(graph "g" (%n: i64[], %x: u8[2, 4], %w: u8[4, 4], %open: u8[4, ?], %rows: u8[2], %some: u8[?]) {
    %once = mat_mul_integer(%x, %w)
    %y, %z, %v, _ = loop trips=%n stacks=3 { body(%i, %go) {
      %a = mat_mul_integer(%x, %open)
      %b = mat_mul_integer(%x, %w, %rows)
      %c = mat_mul_integer(%x, %w, _, %some)
      yield go=%go items=(%a, %b, %c) } }
    yield %once, %y, %z, %v })g");
}

}  // namespace
}  // namespace rondel::passes
