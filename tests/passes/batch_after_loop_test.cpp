// Products that a loop only stacks are computed for all trips after the loop.
#include "passes/batch_after_loop.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

// What leads from the product to the stack goes with it.
TEST(BatchAfterLoop, ProductsThatAreOnlyStackedAreOneProduct) {
  expect_rewrite(batch_after_loop,
                 R"g(graph "g" (%x: f32[t, 16], %w: f32[16, 32], %b: f32[32], %h: f32[16]) {
    %last, %all, _ = loop states=(%h) scans=(%x) {
      body(%i, %go, %s, %e) {
        %n: f32[16] = add(%s, %e)
        %p: f32[32] = mat_mul(%n, %w)
        %q: f32[32] = add(%p, %b)
        %y: f32[32] = relu(%q)
        yield go=%go states=(%n) items=(%y) } }
    yield %last, %all })g",
                 R"g(graph "g" (%x: f32[t, 16], %w: f32[16, 32], %b: f32[32], %h: f32[16]) {
    %last, %n: f32[t, 16], _ = loop states=(%h) scans=(%x) {
      body(%i, %go, %s, %e) {
        %n#1: f32[16] = add(%s, %e)
        yield go=%go states=(%n#1) items=(%n#1) } }
    %#0: f32[t, 32] = mat_mul(%n, %w)
    %#1: f32[t, 32] = add(%#0, %b)
    %all: f32[t, 32] = relu(%#1)
    yield %last, %all })g");
}

// A loop that a condition ends has as many rows as it makes trips.
TEST(BatchAfterLoop, TheTripsNeedNotBeKnown) {
  expect_rewrite(batch_after_loop,
                 R"g(graph "g" (%w: f32[16, 32], %h: f32[16], %k: i64[], %c: bool[]) {
    %last, %all, _ = loop trips=%k go=%c states=(%h) {
      body(%i, %go, %s) {
        %n: f32[16] = tanh(%s)
        %p: f32[32] = mat_mul(%n, %w)
        yield go=%go states=(%n) items=(%p) } }
    yield %last, %all })g",
                 R"g(graph "g" (%w: f32[16, 32], %h: f32[16], %k: i64[], %c: bool[]) {
    %last, %n: f32[?, 16], _ = loop trips=%k go=%c states=(%h) {
      body(%i, %go, %s) {
        %n#1: f32[16] = tanh(%s)
        yield go=%go states=(%n#1) items=(%n#1) } }
    %all: f32[?, 32] = mat_mul(%n, %w)
    yield %last, %all })g");
}

// The stack's own axis and direction are kept, also those of its operand.
TEST(BatchAfterLoop, AxisAndDirectionOfTheStackAreKept) {
  expect_rewrite(batch_after_loop, R"g(graph "g" (%x: f32[5, 16], %w: f32[16, 32], %h: f32[16]) {
    _, %all, %sums, _ = loop states=(%h) scans=(%x) axis_out=[1, -1] reverse_out=[1, 1] {
      body(%i, %go, %s, %e) {
        %n: f32[16] = add(%s, %e)
        %p: f32[32] = mat_mul(%n, %w)
        yield go=%go states=(%n) items=(%p, %n) } }
    yield %all, %sums })g",
                 R"g(graph "g" (%x: f32[5, 16], %w: f32[16, 32], %h: f32[16]) {
    _, %sums, %n, _ = loop states=(%h) scans=(%x) axis_out=[-1, 0] reverse_out=[1, 1] {
      body(%i, %go, %s, %e) {
        %n: f32[16] = add(%s, %e)
        yield go=%go states=(%n) items=(%n, %n) } }
    %#0: f32[5, 32] = mat_mul(%n, %w)
    %all: f32[32, 5] = transpose(%#0) perm=[1, 0]
    yield %all, %sums })g");
}

// A stack that is there already is not made again, if it has the same axis and direction.
TEST(BatchAfterLoop, OperandsThatAreStackedAreNotStackedAgain) {
  expect_rewrite(batch_after_loop, R"g(graph "g" (%x: f32[5, 256], %w: f32[256, 1], %h: f32[256]) {
    _, %sums, %all, _ = loop states=(%h) scans=(%x) {
      body(%i, %go, %s, %e) {
        %n: f32[256] = add(%s, %e)
        %p: f32[1] = mat_mul(%n, %w)
        yield go=%go states=(%n) items=(%n, %p) } }
    yield %sums, %all })g",
                 R"g(graph "g" (%x: f32[5, 256], %w: f32[256, 1], %h: f32[256]) {
    _, %sums, _ = loop states=(%h) scans=(%x) {
      body(%i, %go, %s, %e) {
        %n: f32[256] = add(%s, %e)
        yield go=%go states=(%n) items=(%n) } }
    %all: f32[5, 1] = mat_mul(%sums, %w)
    yield %sums, %all })g");
}

// Two products, joined on the way to their stack. The constant is copied.
TEST(BatchAfterLoop, ChainsAndSumsOfProductsMove) {
  expect_rewrite(batch_after_loop,
                 R"g(graph "g" (%x: f32[t, 16], %v: f32[16, 32], %w: f32[32, 32], %h: f32[16]) {
    _, %all, _ = loop states=(%h) scans=(%x) {
      body(%i, %go, %s, %e) {
        %zero = constant value=f32[] {0}
        %n: f32[16] = add(%s, %e)
        %p: f32[32] = mat_mul(%n, %v)
        %r: f32[32] = max(%p, %zero)
        %q: f32[32] = mat_mul(%r, %w)
        %o: f32[32] = mat_mul(%e, %v)
        %y: f32[32] = add(%q, %o)
        yield go=%go states=(%n) items=(%y) } }
    yield %all })g",
                 R"g(graph "g" (%x: f32[t, 16], %v: f32[16, 32], %w: f32[32, 32], %h: f32[16]) {
    _, %n: f32[t, 16], _ = loop states=(%h) scans=(%x) {
      body(%i, %go, %s, %e) {
        %n: f32[16] = add(%s, %e)
        yield go=%go states=(%n) items=(%n) } }
    %o: f32[t, 32] = mat_mul(%x, %v)
    %zero = constant value=f32[] {0}
    %#0: f32[t, 32] = mat_mul(%n, %v)
    %#1: f32[t, 32] = max(%#0, %zero)
    %#2: f32[t, 32] = mat_mul(%#1, %w)
    %all: f32[t, 32] = add(%#2, %o)
    yield %all })g");
}

// A view of a product's operand is no other tensor to stack.
TEST(BatchAfterLoop, ViewsMoveWithTheProductsThatReadThem) {
  expect_rewrite(batch_after_loop, R"g(graph "g" (%x: f32[5, 256], %w: f32[256, 1], %h: f32[256]) {
    %all, _ = loop scans=(%x) {
      body(%i, %go, %e) {
        %zero = constant value=i64[1] {0}
        %n: f32[1, 256] = unsqueeze(%e, %zero)
        %p: f32[1, 1] = mat_mul(%n, %w)
        yield go=%go items=(%p) } }
    yield %all })g",
                 R"g(graph "g" (%x: f32[5, 256], %w: f32[256, 1], %h: f32[256]) {
    _ = loop scans=(%x) {
      body(%i, %go, %e) {
        yield go=%go } }
    %zero = constant value=i64[1] {0}
    %#0 = constant value=i64[1] {-2}
    %#1: f32[5, 1, 256] = unsqueeze(%x, %#0)
    %#2: f32[5, 256] = flatten(%#1) axis=-1
    %#3: f32[5, 1] = mat_mul(%#2, %w)
    %#4 = constant value=i64[3] {5, 1, 1}
    %all: f32[5, 1, 1] = reshape(%#3, %#4) allowzero=1
    yield %all })g");
}

// The rows of an inner stack, which is stacked again, are those of one product.
TEST(BatchAfterLoop, ProductsLeaveAllLoopsThatStackThem) {
  expect_rewrite(batch_after_loop,
                 R"g(graph "g" (%x: f32[t, 5, 16], %w: f32[16, 32], %h: f32[16]) {
    %all, _ = loop scans=(%x) {
      body(%j, %on, %row: f32[5, 16]) {
        _, %some, _ = loop states=(%h) scans=(%row) {
          body(%i, %go, %s, %e) {
            %n: f32[16] = add(%s, %e)
            %p: f32[32] = mat_mul(%n, %w)
            yield go=%go states=(%n) items=(%p) } }
        yield go=%on items=(%some) } }
    yield %all })g",
                 R"g(graph "g" (%x: f32[t, 5, 16], %w: f32[16, 32], %h: f32[16]) {
    %n: f32[t, 5, 16], _ = loop scans=(%x) {
      body(%j, %on, %row: f32[5, 16]) {
        _, %n, _ = loop states=(%h) scans=(%row) {
          body(%i, %go, %s, %e) {
            %n: f32[16] = add(%s, %e)
            yield go=%go states=(%n) items=(%n) } }
        yield go=%on items=(%n) } }
    %#0: f32[5 * t, 16] = flatten(%n) axis=-1
    %#1: f32[5 * t, 32] = mat_mul(%#0, %w)
    %#2: i64[2] = shape(%n) end=-1
    %#3: i64[1] = shape(%#1) start=-1
    %#4: i64[3] = concat(%#2, %#3) axis=0
    %all: f32[t, 5, 32] = reshape(%#1, %#4) allowzero=1
    yield %all })g");
}

/// A loop over `x`, with the state `h` and the weights `w`, that stacks `items` of a product.
std::string stacking(const std::string& inputs, const std::string& body, const std::string& items,
                     const std::string& loop = "states=(%h) scans=(%x)",
                     const std::string& next = "%n") {
  return R"g(graph "g" ()g" + inputs + R"g() {
    %last, %all, _ = loop )g" +
         loop + R"g( {
      body(%i, %go, %s, %e) {
        %n = add(%s, %e)
        )g" +
         body + R"g(
        yield go=%go states=()g" +
         next + ") items=(" + items + R"g() } }
    yield %last, %all })g";
}
const std::string inputs = "%x: f32[5, 16], %w: f32[16, 16], %h: f32[16]";
const std::string product = "%p = mat_mul(%n, %w)";

TEST(BatchAfterLoop, WhatElseIsReadStays) {
  expect_untouched(batch_after_loop,
                   stacking(inputs, product, "%p", "states=(%h) scans=(%x)", "%p"));
  expect_untouched(batch_after_loop, stacking(inputs, product + " %m = relu(%p)", "%p",
                                              "states=(%h) scans=(%x)", "%m"));
}

// One of its readers needs it in the trip.
TEST(BatchAfterLoop, WhatARegionReadsStays) {
  expect_untouched(batch_after_loop, stacking(inputs + ", %c: bool[]", product + R"g(
        %y: f32[16] = if(%c) {
          then { yield %p }
          else { yield %n } })g",
                                              "%y"));
}

// The zeros behind the last item are no products.
TEST(BatchAfterLoop, StacksWithExtentsOfTheirOwnStay) {
  expect_untouched(batch_after_loop, stacking(inputs + ", %m: i64[]", product, "%p",
                                              "states=(%h) scans=(%x) extents=(%m)"));
}

TEST(BatchAfterLoop, StacksOfBothDirectionsStay) {
  expect_untouched(batch_after_loop, R"g(graph "g" (%x: f32[5, 16], %w: f32[16, 16], %h: f32[16]) {
    _, %all, %back, _ = loop states=(%h) scans=(%x) reverse_out=[0, 1] {
      body(%i, %go, %s, %e) {
        %n = add(%s, %e)
        %p = mat_mul(%n, %w)
        yield go=%go states=(%n) items=(%p, %p) } }
    yield %all, %back })g");
}

TEST(BatchAfterLoop, WhatMayFailStays) {
  const std::string some = "%x: f32[5, k], %w: f32[16, 16], %h: f32[k], %m: f32[j]";
  expect_untouched(batch_after_loop, stacking(some, product, "%p"));
  expect_untouched(batch_after_loop,
                   stacking(inputs + ", %m: f32[j]", product + " %y = add(%p, %m)", "%y"));
}

TEST(BatchAfterLoop, WeightsOfTheTripStay) {
  expect_untouched(batch_after_loop, stacking("%x: f32[5, 16, 16], %w: f32[16], %h: f32[16, 16]",
                                              "%p = mat_mul(%e, %n)", "%p"));
  expect_untouched(batch_after_loop, stacking("%x: f32[5, 16, 3], %w: f32[16, 16], %h: f32[16, 3]",
                                              "%p = mat_mul(%w, %n)", "%p"));
}

TEST(BatchAfterLoop, FewWeightsStay) {
  expect_untouched(batch_after_loop,
                   stacking("%x: f32[5, 16], %w: f32[16, 15], %h: f32[16]", product, "%p"));
}

TEST(BatchAfterLoop, WhatStacksMuchInsteadOfLittleStays) {
  expect_untouched(batch_after_loop,
                   stacking("%x: f32[5, 128], %w: f32[128, 3], %h: f32[128]", product, "%p"));
  // The same of a value on the way: the second product alone would stack it.
  expect_untouched(batch_after_loop,
                   stacking("%x: f32[5, 16], %w: f32[16, 128], %v: f32[128, 3], %h: f32[16]",
                            product + " %y = mat_mul(%p, %v)", "%y"));
}

/// A product whose bias has the extent `n` of its operand, beside another item.
std::string beside(const std::string& item) {
  return R"g(graph "g" (%x: f32[t, n, 16], %w: f32[16, 16], %h: f32[n, 16], %m: f32[j], %k: f32[k]) {
    _, _, %all, %sums, _ = loop states=(%h, %m) scans=(%x) {
      body(%i, %go, %s, %c, %e) {
        %d = )g" +
         item + R"g(
        %n = add(%s, %e)
        %p: f32[n, 16] = mat_mul(%n, %w)
        %y: f32[n, 16] = add(%p, %h)
        yield go=%go states=(%n, %c) items=(%y, %d) } }
    yield %all, %sums })g";
}

TEST(BatchAfterLoop, OperandsMayShareAnExtentWhereAllShapesAgree) {
  expect_rewrite(
      batch_after_loop, beside("add(%c, %c)"),
      R"g(graph "g" (%x: f32[t, n, 16], %w: f32[16, 16], %h: f32[n, 16], %m: f32[j], %k: f32[k]) {
    _, _, %sums, %n: f32[t, n, 16], _ = loop states=(%h, %m) scans=(%x) {
      body(%i, %go, %s, %c, %e) {
        %d = add(%c, %c)
        %n = add(%s, %e)
        yield go=%go states=(%n, %c) items=(%d, %n) } }
    %#0: f32[n * t, 16] = flatten(%n) axis=-1
    %#1: f32[n * t, 16] = mat_mul(%#0, %w)
    %#2: i64[2] = shape(%n) end=-1
    %#3: i64[1] = shape(%#1) start=-1
    %#4: i64[3] = concat(%#2, %#3) axis=0
    %#5: f32[t, n, 16] = reshape(%#1, %#4) allowzero=1
    %all: f32[t, n, 16] = add(%#5, %h)
    yield %all, %sums })g");
}

// The stack of a loop without trips may have the extent 0 where an operand from outside has `n`.
TEST(BatchAfterLoop, OperandsShareNoExtentWhereShapesMayContradictEachOther) {
  expect_untouched(batch_after_loop, beside("add(%c, %k)"));
}

/// An inner loop that a condition may end.
TEST(BatchAfterLoop, InnerStacksOfUnknownExtentsStay) {
  expect_untouched(batch_after_loop,
                   R"g(graph "g" (%w: f32[16, 32], %h: f32[16], %k: i64[], %c: bool[]) {
    %y, _ = loop trips=%k states=(%h) {
      body(%j, %on, %a: f32[16]) {
        %last, %all, _ = loop go=%c states=(%a) {
          body(%i, %go, %s) {
            %n: f32[16] = tanh(%s)
            %p: f32[32] = mat_mul(%n, %w)
            yield go=%go states=(%n) items=(%p) } }
        %b: f32[32] = reduce_sum(%all, _) keepdims=0
        yield go=%on states=(%last) } }
    yield %y })g");
}

}  // namespace
}  // namespace rondel::passes
