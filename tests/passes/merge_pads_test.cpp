#include "passes/merge_pads.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

const AnyPass pass = merge_pads;

TEST(MergePads, PadsOfPadsAreOnePad) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[A, 5]) {
    %rows = constant value=i64[2] {1, 2}
    %first = constant value=i64[1] {-2}
    %p = pad(%x, %rows, _, %first)
    %all = constant value=i64[4] {3, 4, -1, 0}
    %zero = constant value=f32[] {0}
    %y = pad(%p, %all, %zero)
    yield %y
  })g",
                 R"g(graph "g" (%x: f32[A, 5]) {
    %rows = constant value=i64[2] {1, 2}
    %first = constant value=i64[1] {-2}
    %p = pad(%x, %rows, _, %first)
    %all = constant value=i64[4] {3, 4, -1, 0}
    %zero = constant value=f32[] {0}
    %#0 = constant value=i64[4] {4, 4, 1, 0}
    %y = pad(%x, %#0, %zero)
    yield %y
  })g");
}

TEST(MergePads, OtherConstantsModesAndRemovedElementsStay) {
  expect_untouched(pass, R"g(graph "g" (%x: f32[A, 5], %pads: i64[4], %c: f32[]) {
    %more = constant value=i64[4] {1, 1, 1, 1}
    %far = constant value=i64[4] {2305843009213693951, 0, 0, 0}
    %q = pad(%x, %far)
    %r = pad(%q, %more)
    %less = constant value=i64[4] {1, -1, 1, 1}
    %one = constant value=f32[] {1}
    %a = pad(%x, %more, %one)
    %b = pad(%a, %more)
    %d = pad(%x, %less)
    %e = pad(%d, %more)
    %f = pad(%x, %pads)
    %h = pad(%f, %more)
    %i = pad(%x, %more) mode="edge"
    %j = pad(%i, %more)
    %k = pad(%x, %more, %c)
    %l = pad(%k, %more, %c)
    yield %b, %e, %h, %j, %l, %r
  })g");
}

TEST(MergePads, ThreePadsAreOnePad) {
  ir::Graph g = ir::parse(R"g(graph "g" (%x: f32[A]) {
    %more = constant value=i64[2] {1, 2}
    %a = pad(%x, %more)
    %b = pad(%a, %more)
    %y = pad(%b, %more)
    yield %y
  })g");
  EXPECT_TRUE(merge_pads(g));
  const ir::Node& y = g.node(g.value(g.root().results[0]).producer);
  EXPECT_EQ(y.inputs[0], g.root().params[0]);
  EXPECT_EQ(ir::integers_of(*g.constant(y.inputs[1])), (ir::Ints{3, 6}));
}

TEST(MergePads, ConstantsAreComparedByAllTheirBits) {
  expect_untouched(pass, R"g(graph "g" (%x: c128[A], %z: f32[A]) {
    %more = constant value=i64[2] {1, 2}
    %one = constant value=c128[] {0x40000000000000003ff0000000000000}
    %two = constant value=c128[] {0x40080000000000003ff0000000000000}
    %a = pad(%x, %more, %one)
    %b = pad(%a, %more, %two)
    %minus = constant value=f32[] {-0}
    %d = pad(%z, %more, %minus)
    %e = pad(%d, %more)
    yield %b, %e
  })g");
}

}  // namespace
}  // namespace rondel::passes
