// Adjoints are appended to a graph, from what is differentiated back to what it is differentiated
// by.
#include "passes/gradient.h"

#include "base/error.h"
#include "passes/pass_case.h"
#include "passes/remove_dead.h"

namespace rondel::passes {
namespace {

/// The graph with the adjoint of its first parameter as a further result; the second is the seed.
std::string gradient_of(const std::string& text) {
  ir::Graph g = ir::parse(text);
  const GradientRequest request{
      .of = {g.root().results[0]}, .seed = {g.root().params[1]}, .by = {g.root().params[0]}};
  g.add_result({}, add_gradient(g, request)[0]);
  remove_dead(g);
  ir::verify(g);
  return ir::to_text(g);
}

void expect_gradient(const std::string& before, const std::string& after) {
  EXPECT_EQ(gradient_of(before), ir::to_text(ir::parse(after)));
}

TEST(Gradient, AdjointsThatMeetAreAddedAndValuesOfTheModelAreRead) {
  expect_gradient(R"g(graph "g" (%x: f32[3], %seed: f32[3]) {
    %e = exp(%x)
    %y = mul(%e, %x)
    yield %y })g",
                  R"g(graph "g" (%x: f32[3], %seed: f32[3]) {
    %e = exp(%x)
    %y = mul(%e, %x)
    %#0 = mul(%seed, %x)
    %#1 = mul(%seed, %e)
    %#2 = mul(%#0, %e)
    %#3 = add(%#1, %#2)
    yield %y, %#3 })g");
}

TEST(Gradient, AnInputThatIsBroadcastGetsASum) {
  expect_gradient(R"g(graph "g" (%x: f32[3, 1], %seed: f32[2, 3, 4], %a: f32[2, 3, 4]) {
    %y = add(%x, %a)
    yield %y })g",
                  R"g(graph "g" (%x: f32[3, 1], %seed: f32[2, 3, 4], %a: f32[2, 3, 4]) {
    %y = add(%x, %a)
    %#0 = constant value=i64[2] {0, 2}
    %#1 = reduce_sum(%seed, %#0) keepdims=1
    %#2 = constant value=i64[1] {0}
    %#3 = squeeze(%#1, %#2)
    yield %y, %#3 })g");
}

TEST(Gradient, NothingFlowsThroughIntegersAndWhatDoesNotReadTheInput) {
  expect_gradient(R"g(graph "g" (%x: f32[3], %seed: f32[3], %a: f32[3]) {
    %i = convert(%x) to=type i64[]
    %f = convert(%i) to=type f32[]
    %b = exp(%a)
    %c = mul(%f, %b)
    %y = add(%c, %x)
    yield %y })g",
                  R"g(graph "g" (%x: f32[3], %seed: f32[3], %a: f32[3]) {
    %i = convert(%x) to=type i64[]
    %f = convert(%i) to=type f32[]
    %b = exp(%a)
    %c = mul(%f, %b)
    %y = add(%c, %x)
    yield %y, %seed })g");
}

TEST(Gradient, AnOpWithoutOneIsNamedWithThePathToIt) {
  try {
    gradient_of(R"g(graph "g" (%x: f32[3], %seed: f32[3]) {
      %axis = constant value=i64[] {0}
      %l = cum_prod(%x, %axis)
      %y = exp(%l)
      yield %y })g");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.blame(), Blame::unsupported);
    EXPECT_NE(std::string(e.what()).find("has no gradient; on the way to it: 'y' <- 'l'"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace rondel::passes
