// A value that the previous trip has computed already becomes a state.
#include "passes/predictive_commoning.h"

#include "ir/text.h"
#include "passes/pass_case.h"
#include "passes/remove_dead.h"

#include <gmock/gmock.h>

namespace rondel::passes {
namespace {

std::string carried(const std::string& text) {
  ir::Graph g = ir::parse(text);
  predictive_commoning(g);
  remove_dead(g);
  ir::verify(g);
  return ir::to_text(g);
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

/// Solves a x = b: the residual is the step, and its norm ends the loop. `before` computes the
/// residual of %x0, `in_body` that of %x, and `after` that of %next.
std::string solver(const std::string& before, const std::string& in_body,
                   const std::string& after) {
  return carried(R"(graph "g" (%a: f32[4, 4], %b: f32[4], %x0: f32[4], %n: i64[]) {
    %least = constant value=f32[] {0.001}
    )" + before + R"(
    %size0 = reduce_max(%r0) keepdims=0
    %go0 = greater(%size0, %least)
    %x, _ = loop trips=%n go=%go0 states=(%x0) { body(%i, %go, %x) {
      )" + in_body +
                 R"(
      %next = add(%x, %r)
      )" + after +
                 R"(
      %size = reduce_max(%r2) keepdims=0
      %on = greater(%size, %least)
      yield go=%on states=(%next)
    } }
    yield %x
  })");
}

TEST(PredictiveCommoning, a_residual_is_computed_once_a_trip) {
  const std::string text = solver("%p0 = mat_mul(%a, %x0) %r0 = sub(%b, %p0)",
                                  "%p = mat_mul(%a, %x) %r = sub(%b, %p)",
                                  "%q = mat_mul(%a, %next) %r2 = sub(%b, %q)");
  EXPECT_EQ(count(text, "mat_mul"), 2) << text;
  EXPECT_EQ(count(text, "sub("), 2) << text;
  EXPECT_THAT(text, testing::HasSubstr("states=(%x0, %r0)"));
}

TEST(PredictiveCommoning, constants_may_be_each_regions_own) {
  const std::string text = solver(
      "%c0 = constant value=f32[1] {2} %s0 = mul(%x0, %c0) %p0 = mat_mul(%a, %s0) %r0 = sub(%b, "
      "%p0)",
      "%c = constant value=f32[1] {2} %s = mul(%x, %c) %p = mat_mul(%a, %s) %r = sub(%b, %p)",
      "%d = constant value=f32[1] {2} %t = mul(%next, %d) %q = mat_mul(%a, %t) %r2 = sub(%b, %q)");
  EXPECT_EQ(count(text, "mat_mul"), 2) << text;
}

bool carry(ir::Graph& g) {
  const bool changed = predictive_commoning(g);
  remove_dead(g);
  return changed;
}

TEST(PredictiveCommoning, the_whole_graph_of_a_power_iteration) {
  expect_rewrite(carry, R"g(graph "g" (%a: f32[4, 4], %x0: f32[4], %n: i64[]) {
    %r0 = mat_mul(%a, %x0)
    %x, _ = loop trips=%n states=(%x0) { body(%i, %go, %x) {
      %r = mat_mul(%a, %x)
      %next = tanh(%r)
      %r2 = mat_mul(%a, %next)
      %size = reduce_max(%r2) keepdims=0
      %on = greater(%size, %size)
      yield go=%on states=(%next)
    } }
    yield %x })g",
                 R"g(graph "g" (%a: f32[4, 4], %x0: f32[4], %n: i64[]) {
    %r0 = mat_mul(%a, %x0)
    %x, %#0, _ = loop trips=%n states=(%x0, %r0) { body(%i, %go, %x, %r) {
      %next = tanh(%r)
      %r2 = mat_mul(%a, %next)
      %size = reduce_max(%r2) keepdims=0
      %on = greater(%size, %size)
      yield go=%on states=(%next, %r2)
    } }
    yield %x })g");
}

TEST(PredictiveCommoning, the_whole_graph_where_nothing_repeats) {
  expect_untouched(carry, R"g(graph "g" (%a: f32[4, 4], %x0: f32[4], %n: i64[]) {
    %r0 = mat_mul(%a, %x0)
    %x, _ = loop trips=%n states=(%r0) { body(%i, %go, %x) {
      %r = mat_mul(%a, %x)
      %next = tanh(%r)
      yield go=%go states=(%next)
    } }
    yield %x })g");
}

struct Other {
  const char *what, *before, *in_body, *after;
};

class CarriesNothing : public ::testing::TestWithParam<Other> {};

TEST_P(CarriesNothing, where_the_values_are_others) {
  const Other& o = GetParam();
  EXPECT_THAT(solver(o.before, o.in_body, o.after), testing::HasSubstr("states=(%x0)")) << o.what;
}

INSTANTIATE_TEST_SUITE_P(
    PredictiveCommoning, CarriesNothing,
    ::testing::Values(
        Other{"another order of the operands", "%p0 = mat_mul(%x0, %a) %r0 = sub(%b, %p0)",
              "%p = mat_mul(%a, %x) %r = sub(%b, %p)", "%q = mat_mul(%a, %next) %r2 = sub(%b, %q)"},
        Other{"another constant",
              "%c0 = constant value=f32[1] {2} %s0 = mul(%x0, %c0) %r0 = mat_mul(%a, %s0)",
              "%c = constant value=f32[1] {2} %s = mul(%x, %c) %r = mat_mul(%a, %s)",
              "%d = constant value=f32[1] {3} %t = mul(%next, %d) %r2 = mat_mul(%a, %t)"},
        Other{"another attribute", "%r0 = mat_mul(%a, %x0)", "%r = mat_mul(%a, %x)",
              "%r2 = mat_mul(%a, %next) transpose_a=1"},
        Other{"nothing of the kind in front", "%r0 = identity(%x0)", "%r = mat_mul(%a, %x)",
              "%r2 = mat_mul(%a, %next)"},
        Other{"not of the next value", "%r0 = mat_mul(%a, %x0)", "%r = mat_mul(%a, %x)",
              "%r2 = mat_mul(%a, %r)"},
        Other{"nothing but elements", "%r0 = sub(%b, %x0)", "%r = sub(%b, %x)",
              "%r2 = sub(%b, %next)"}));

TEST(PredictiveCommoning, the_state_comes_before_what_is_scanned) {
  const std::string text = carried(R"(graph "g" (%a: f32[4, 4], %x0: f32[4], %s: f32[N, 4]) {
    %r0 = mat_mul(%a, %x0)
    %x, %ys, %n = loop states=(%x0) scans=(%s) { body(%i, %go, %x, %e) {
      %r = mat_mul(%a, %x)
      %y = add(%e, %r)
      %r2 = mat_mul(%a, %y)
      yield go=%go states=(%y) items=(%r2)
    } }
    yield %x, %ys, %n
  })");
  EXPECT_EQ(count(text, "mat_mul"), 2) << text;
  EXPECT_THAT(text, testing::HasSubstr("states=(%x0, %r0)"));
}

}  // namespace
}  // namespace rondel::passes
