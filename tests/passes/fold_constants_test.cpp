// Values that are known without running the model become constants.
#include "passes/fold_constants.h"

#include "passes/pass_case.h"
#include "passes/remove_dead.h"

namespace rondel::passes {
namespace {

/// An evaluator that can only multiply i64 scalars.
std::vector<Value> products_only(const ir::Graph& g, ir::NodeId n,
                                 std::span<const Tensor* const> inputs) {
  if (g.node(n).op->name != "mul" || inputs[0]->dtype() != DType::i64 || inputs[0]->rank() != 0)
    return {Value()};
  return {
      Tensor::scalar(*inputs[0]->data_as<std::int64_t>() * *inputs[1]->data_as<std::int64_t>())};
}

/// Nodes that constants have replaced are left for remove_dead, which is not tested here.
bool folded(ir::Graph& g) {
  const bool changed = fold_constants(g, products_only);
  remove_dead(g);
  return changed;
}

TEST(FoldConstants, ExtentsThatAreKnown) {
  expect_rewrite(folded, R"g(graph "g" (%x: f32[2, 3], %z: f32[N, 3]) {
    %s = shape(%x)
    %t = shape(%z)
    %last = constant value=i64[] {1}
    %three = gather(%t, %last)
    yield %s, %t, %three })g",
                 R"g(graph "g" (%x: f32[2, 3], %z: f32[N, 3]) {
    %s = constant value=i64[2] {2, 3}
    %t = shape(%z)
    %three = constant value=i64[] {3}
    yield %s, %t, %three })g");
}

TEST(FoldConstants, WhatTheEvaluatorKnowsAtEveryDepth) {
  expect_rewrite(folded, R"g(graph "g" (%n: i64[], %x: i64[]) {
    %two = constant value=i64[] {2}
    %four = mul(%two, %two)
    %y, _ = loop trips=%n states=(%x) { body(%i, %go, %s) {
      %eight = mul(%four, %two)
      %t = add(%s, %eight)
      yield go=%go states=(%t) } }
    yield %y })g",
                 R"g(graph "g" (%n: i64[], %x: i64[]) {
    %y, _ = loop trips=%n states=(%x) { body(%i, %go, %s) {
      %eight = constant value=i64[] {8}
      %t = add(%s, %eight)
      yield go=%go states=(%t) } }
    yield %y })g");
}

TEST(FoldConstants, OfAConditionThatIsKnownTheBranchTaken) {
  expect_rewrite(folded, R"g(graph "g" (%x: f32[2], %c: bool[]) {
    %yes = constant value=bool[] {true}
    %no = constant value=bool[] {false}
    %a = if(%yes) { then { %n = neg(%x) yield %n } else { %e = exp(%x) yield %e } }
    %b = if(%no) { then { yield %x } else { %f = abs(%a) yield %f } }
    %d = if(%c) { then { yield %x } else { yield %b } }
    yield %d })g",
                 R"g(graph "g" (%x: f32[2], %c: bool[]) {
    %n = neg(%x)
    %f = abs(%n)
    %d = if(%c) { then { yield %x } else { yield %f } }
    yield %d })g");
}

TEST(FoldConstants, ABranchThatIsNotTakenNeedNotHold) {
  ir::Graph g = ir::parse(R"g(graph "g" (%x: f32[N, N]) {
    %no = constant value=bool[] {false}
    %y = if(%no) { then { %m = mat_mul(%x, %x) yield %m } else { %n = neg(%x) yield %n } }
    yield %y })g");
  g.value(g.root().params[0]).type = ir::Type::tensor(DType::f32, {2, 3});
  EXPECT_TRUE(folded(g));
  EXPECT_EQ(ir::to_text(g), ir::to_text(ir::parse(R"g(graph "g" (%x: f32[2, 3]) {
    %n = neg(%x)
    yield %n })g")));
}

TEST(FoldConstants, TypesAreInferredAnew) {
  expect_rewrite(folded, R"g(graph "g" (%x: f32[2, 3]) {
    %y: f32[?, ?] = neg(%x)
    yield %y })g",
                 R"g(graph "g" (%x: f32[2, 3]) {
    %y: f32[2, 3] = neg(%x)
    yield %y })g");
}

TEST(FoldConstants, WhatDependsOnAnInputOrATripStays) {
  expect_untouched(folded, R"g(graph "g" (%n: i64[], %x: i64[], %z: f32[N]) {
    %one = constant value=i64[] {1}
    %a = add(%x, %one)
    %y, _ = loop trips=%n states=(%a) { body(%i, %go, %s) {
      %t = add(%s, %i)
      yield go=%go states=(%t) } }
    %m = bitwise_xor(%one, %one)
    %e = shape(%z)
    yield %y, %m, %e })g");
}

TEST(FoldConstants, WithoutAnEvaluatorWhatTypesTell) {
  const AnyPass types_only = [](ir::Graph& g) {
    const bool changed = fold_constants(g, nullptr);
    remove_dead(g);
    return changed;
  };
  expect_rewrite(types_only, R"g(graph "g" (%x: f32[2, 3]) {
    %two = constant value=i64[] {2}
    %none = bitwise_xor(%two, %two)
    %four = mul(%two, %two)
    %s = shape(%x)
    yield %none, %four, %s })g",
                 R"g(graph "g" (%x: f32[2, 3]) {
    %two = constant value=i64[] {2}
    %none = bitwise_xor(%two, %two)
    %four = constant value=i64[] {4}
    %s = constant value=i64[2] {2, 3}
    yield %none, %four, %s })g");
}

/// Inference names an unknown extent after its value; a file may use the same name for another
/// extent.
TEST(FoldConstants, AnExtentThatAFileNamesAsWeDoIsNotOneThatWeNamed) {
  const ir::Graph g = ir::parse(R"g(graph "g" (%a: f32[2, v2.1], %b: f32[N]) {
  %c: i64[1, ?] = non_zero(%b)
  %y: f32[2, v2.1] = same_extent(%a, %c) axes=[1, 1]
  yield %y
})g");
  ir::TypeEnvironment k = ir::type_environment(g);
  k.name_unknowns = true;
  ir::infer_region(g, ir::RegionId::root, k);
  EXPECT_EQ(to_text(k.types[2]), "i64[1, $v2.1]");
  EXPECT_FALSE(k.types[0].extent(1) == k.types[2].extent(1));
  EXPECT_TRUE(k.same.empty()) << "the check that both are equal would be dropped";
}

}  // namespace
}  // namespace rondel::passes
