// Products of what a loop scans are computed for all trips before the loop.
#include "passes/batch_before_loop.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

TEST(BatchBeforeLoop, ProductsOfElementsAreOneProduct) {
  expect_rewrite(batch_before_loop,
                 R"g(graph "g" (%x: f32[t, 8], %w: f32[8, 32], %h: f32[32]) {
    %last, %all, _ = loop states=(%h) scans=(%x) {
      body(%i, %go, %s, %e) {
        %p: f32[32] = mat_mul(%e, %w)
        %n = add(%s, %p)
        yield go=%go states=(%n) items=(%n) } }
    yield %last, %all })g",
                 R"g(graph "g" (%x: f32[t, 8], %w: f32[8, 32], %h: f32[32]) {
    %#0: f32[t, 32] = mat_mul(%x, %w)
    %last, %all, _ = loop states=(%h) scans=(%#0) {
      body(%i, %go, %s, %p: f32[32]) {
        %n = add(%s, %p)
        yield go=%go states=(%n) items=(%n) } }
    yield %last, %all })g");
}

// The scan's axis comes first; the loop reads the results in its own direction.
TEST(BatchBeforeLoop, AxisAndDirectionOfTheScanAreKept) {
  expect_rewrite(batch_before_loop, R"g(graph "g" (%x: f32[8, 5], %w: f32[8, 32], %h: f32[32]) {
    %last, _ = loop states=(%h) scans=(%x) axis_in=[1] reverse_in=[1] {
      body(%i, %go, %s, %e) {
        %p: f32[32] = mat_mul(%e, %w)
        %n = add(%s, %p)
        yield go=%go states=(%n) } }
    yield %last })g",
                 R"g(graph "g" (%x: f32[8, 5], %w: f32[8, 32], %h: f32[32]) {
    %#0: f32[5, 8] = transpose(%x) perm=[1, 0]
    %#1: f32[5, 32] = mat_mul(%#0, %w)
    %last, _ = loop states=(%h) scans=(%#1) reverse_in=[1] {
      body(%i, %go, %s, %p: f32[32]) {
        %n = add(%s, %p)
        yield go=%go states=(%n) } }
    yield %last })g");
}

// What lies on the way to a product goes with it; what else reads the element stays.
TEST(BatchBeforeLoop, ChainsMoveAsFarAsTheLastProduct) {
  expect_rewrite(batch_before_loop,
                 R"g(graph "g" (%x: f32[t, 8], %v: f32[8, 32], %w: f32[32, 32], %h: f32[32]) {
    %last, %all, _ = loop states=(%h) scans=(%x) {
      body(%i, %go, %s, %e) {
        %p: f32[32] = mat_mul(%e, %v)
        %r: f32[32] = relu(%p)
        %q: f32[32] = mat_mul(%r, %w)
        %n = add(%s, %q)
        yield go=%go states=(%n) items=(%e) } }
    yield %last, %all })g",
                 R"g(graph "g" (%x: f32[t, 8], %v: f32[8, 32], %w: f32[32, 32], %h: f32[32]) {
    %#0: f32[t, 32] = mat_mul(%x, %v)
    %#1: f32[t, 32] = relu(%#0)
    %#2: f32[t, 32] = mat_mul(%#1, %w)
    %last, %all, _ = loop states=(%h) scans=(%x, %#2) {
      body(%i, %go, %s, %e, %q: f32[32]) {
        %n = add(%s, %q)
        yield go=%go states=(%n) items=(%e) } }
    yield %last, %all })g");
}

void expect_product_stays(const std::string& inputs, const std::string& product,
                          const std::string& before = "") {
  expect_untouched(batch_before_loop, R"g(graph "g" ()g" + inputs + R"g() {
    %last, %all, _ = loop states=(%h) scans=(%x) {
      body(%i, %go, %s, %e) {
        )g" + before + R"g(
        %p = )g" + product + R"g(
        yield go=%go states=(%s) items=(%p) } }
    yield %last, %all })g");
}

// A constant of the body is copied; where a product has no batch rule, nothing of it stays behind.
TEST(BatchBeforeLoop, ConstantsOfTheBodyAreCopied) {
  expect_rewrite(batch_before_loop,
                 R"g(graph "g" (%x: f32[t, 16], %w: f32[16, 32], %u: f32[17, 32]) {
    %all, %others, _ = loop scans=(%x) {
      body(%i, %go, %e) {
        %zero = constant value=f32[] {0}
        %r: f32[16] = max(%e, %zero)
        %pad = constant value=i64[2] {0, 1}
        %wide: f32[17] = pad(%r, %pad, %zero)
        %q: f32[32] = mat_mul(%wide, %u)
        %p: f32[32] = mat_mul(%r, %w)
        yield go=%go items=(%p, %q) } }
    yield %all, %others })g",
                 R"g(graph "g" (%x: f32[t, 16], %w: f32[16, 32], %u: f32[17, 32]) {
    %zero = constant value=f32[] {0}
    %#0: f32[t, 16] = max(%x, %zero)
    %#1: f32[t, 32] = mat_mul(%#0, %w)
    %all, %others, _ = loop scans=(%x, %#1) {
      body(%i, %go, %e, %p: f32[32]) {
        %zero#1 = constant value=f32[] {0}
        %r: f32[16] = max(%e, %zero#1)
        %pad = constant value=i64[2] {0, 1}
        %wide: f32[17] = pad(%r, %pad, %zero#1)
        %q: f32[32] = mat_mul(%wide, %u)
        yield go=%go items=(%p, %q) } }
    yield %all, %others })g");
}

// The loop makes as many trips as the shorter scan has elements: neither scan is left out, and no
// product is made of both.
TEST(BatchBeforeLoop, TwoScansMayHaveDifferentExtents) {
  expect_untouched(batch_before_loop,
                   R"g(graph "g" (%x: f32[t, 16], %y: f32[u, 16], %w: f32[16, 32]) {
    %all, _ = loop scans=(%x, %y) {
      body(%i, %go, %e, %f) {
        %d: f32[16] = add(%e, %f)
        %p: f32[32] = mat_mul(%d, %w)
        yield go=%go items=(%p) } }
    yield %all })g");
  expect_rewrite(batch_before_loop,
                 R"g(graph "g" (%x: f32[t, 16], %y: f32[u, 16], %w: f32[16, 32]) {
    %all, _ = loop scans=(%x, %y) {
      body(%i, %go, %e, %f) {
        %p: f32[32] = mat_mul(%f, %w)
        yield go=%go items=(%p) } }
    yield %all })g",
                 R"g(graph "g" (%x: f32[t, 16], %y: f32[u, 16], %w: f32[16, 32]) {
    %#0: f32[u, 32] = mat_mul(%y, %w)
    %all, _ = loop scans=(%x, %#0) {
      body(%i, %go, %e, %p: f32[32]) {
        yield go=%go items=(%p) } }
    yield %all })g");
}

TEST(BatchBeforeLoop, ValuesOnTheWayTakeLittleMemory) {
  expect_product_stays("%x: f32[t, 1], %b: f32[9000], %w: f32[9000, 8], %h: f32[1]",
                       "mat_mul(%r, %w)", "%r: f32[9000] = add(%e, %b)");
}

/// A scan of `x` in another loop, whose body multiplies the elements by weights.
std::string inner_scan_of(const std::string& x) {
  return R"g(graph "g" (%x: )g" + x + R"g(, %w: f32[8, 32], %h: f32[32], %n: i64[]) {
    %y, _ = loop trips=%n states=(%h) {
      body(%j, %on, %s: f32[32]) {
        %last, _ = loop states=(%s) scans=(%x) {
          body(%i, %go, %u, %e) {
            %p: f32[32] = mat_mul(%e, %w)
            %v = add(%u, %p)
            yield go=%go states=(%v) } }
        yield go=%on states=(%last) } }
    yield %y })g";
}

TEST(BatchBeforeLoop, InnerLoopsOfKnownExtentsAreRewritten) {
  expect_rewrite(batch_before_loop, inner_scan_of("f32[5, 8]"),
                 R"g(graph "g" (%x: f32[5, 8], %w: f32[8, 32], %h: f32[32], %n: i64[]) {
    %y, _ = loop trips=%n states=(%h) {
      body(%j, %on, %s: f32[32]) {
        %#0: f32[5, 32] = mat_mul(%x, %w)
        %last, _ = loop states=(%s) scans=(%#0) {
          body(%i, %go, %u, %p: f32[32]) {
            %v = add(%u, %p)
            yield go=%go states=(%v) } }
        yield go=%on states=(%last) } }
    yield %y })g");
}

TEST(BatchBeforeLoop, InnerLoopsOfUnknownExtentsStay) {
  expect_untouched(batch_before_loop, inner_scan_of("f32[t, 8]"));
}

// A trip count or a condition may end a loop before the scan does.
TEST(BatchBeforeLoop, LoopsThatMayEndEarlyStay) {
  for (const std::string limit : {"trips=%n", "go=%c"})
    expect_untouched(batch_before_loop,
                     R"g(graph "g" (%x: f32[9, 8], %w: f32[8, 32], %n: i64[], %c: bool[]) {
      %all, _ = loop )g" +
                         limit + R"g( scans=(%x) {
        body(%i, %go, %e) {
          %p: f32[32] = mat_mul(%e, %w)
          yield go=%go items=(%p) } }
      yield %all })g");
}

TEST(BatchBeforeLoop, ProductsThatDependOnStatesStay) {
  expect_product_stays("%x: f32[t, 8], %w: f32[8, 32], %h: f32[8]", "mat_mul(%s, %w)");
  expect_product_stays("%x: f32[t, 8], %w: f32[8, 32], %h: f32[8, 32]", "mat_mul(%e, %s)");
}

TEST(BatchBeforeLoop, ProductsThatMayFailStay) {
  expect_product_stays("%x: f32[5, k], %w: f32[8, 32], %h: f32[1]", "mat_mul(%e, %w)");
}

TEST(BatchBeforeLoop, FewWeightsStay) {
  expect_product_stays("%x: f32[t, 8], %w: f32[8, 31], %h: f32[1]", "mat_mul(%e, %w)");
}

// The weights would be read once for each trip all the same.
TEST(BatchBeforeLoop, MatricesFromTheLeftStay) {
  expect_product_stays("%x: f32[t, 8, 3], %w: f32[32, 8], %h: f32[1]", "mat_mul(%w, %e)");
}

TEST(BatchBeforeLoop, ResultsThatTakeMuchMoreMemoryThanTheScanStay) {
  expect_product_stays("%x: f32[t, 2], %w: f32[2, 128], %h: f32[1]", "mat_mul(%e, %w)");
}

}  // namespace
}  // namespace rondel::passes
