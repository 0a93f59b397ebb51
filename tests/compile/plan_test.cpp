#include "compile/plan_builder.h"
#include "compile/tiered_compiler.h"
#include "ir/builder.h"

#include <gtest/gtest.h>

namespace rondel::compile {
namespace {

using ir::Extent;
using ir::ValueId;

/// Two successive products of `a`, of the given type, and weights f32[4, 4].
runtime::Plan plan_of_products(const ir::Type& a) {
  auto graph = std::make_shared<ir::Graph>();
  ir::Builder b(*graph, ir::RegionId::root);
  const ValueId x = graph->add_param(ir::RegionId::root, a, "a");
  const ValueId weights = graph->add_param(
      ir::RegionId::root, ir::Type::tensor(DType::f32, ir::Extents{4, 4}), "weights");
  const ValueId once = b("mat_mul", {x, weights});
  graph->set_results(ir::RegionId::root, {b("mat_mul", {once, weights})});
  BuildContext context;
  context.graph = graph;
  context.compiler = std::make_shared<TieredCompiler>(Execution::interpreter);
  return build_plan(context, ir::RegionId::root);
}

TEST(Plan, ATemporaryOfSymbolicExtentHasItsPlaceInTheArena) {
  const runtime::Plan plan = plan_of_products(
      ir::Type::tensor(DType::f32, ir::Extents{Extent::named("n"), 4}));
  ASSERT_EQ(plan.layout.pieces.size(), 1U) << "the result of the second product is handed out";
  const auto& piece = plan.layout.pieces[0];
  EXPECT_EQ(piece.bytes, 16);
  ASSERT_EQ(piece.symbols.size(), 1U);
  const auto& symbol = plan.layout.symbols[piece.symbols[0]];
  EXPECT_EQ(symbol.slot, plan.params[0]);
  EXPECT_EQ(symbol.axis, 0U);
  EXPECT_EQ(std::pair(piece.first, piece.last), std::pair(std::size_t{0}, std::size_t{1}));
}

TEST(Plan, ATemporaryOfUnknownExtentHasNone) {
  EXPECT_TRUE(plan_of_products(ir::Type::tensor(DType::f32, ir::Extents{Extent(), 4}))
                  .layout.pieces.empty());
}

/// The code that the step of an op runs for each of the given inputs.
std::vector<const scalar::Executable*> codes(std::string_view op, ir::Attributes attributes,
                                             const std::vector<std::vector<Value>>& inputs) {
  auto graph = std::make_shared<ir::Graph>();
  ir::Builder b(*graph, ir::RegionId::root);
  std::vector<ValueId> operands;
  for (const Value& v : inputs[0])
    operands.push_back(graph->add_param(
        ir::RegionId::root, ir::Type::ranked(v.tensor().dtype(), v.tensor().rank()), "in"));
  graph->set_results(ir::RegionId::root, {b(op, operands, std::move(attributes))});
  BuildContext context;
  context.graph = graph;
  context.compiler = std::make_shared<TieredCompiler>(Execution::interpreter);
  const runtime::Plan plan = build_plan(context, ir::RegionId::root);
  const auto& step = dynamic_cast<const runtime::ProgramStep&>(*plan.steps[0]);
  std::vector<const scalar::Executable*> made;
  for (const auto& values : inputs) made.push_back(step.code(values, {}).get());
  return made;
}

Tensor scalar(std::int64_t v) { return Tensor::scalar<std::int64_t>(v); }
Tensor list(std::vector<std::int64_t> v) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(v.size())}, v);
}

TEST(Plan, OpsThatSeeOnlyExtentsHaveOneCodeForAllLengths) {
  const auto range = codes(
      "range", {}, {{scalar(0), scalar(5), scalar(1)}, {scalar(3), scalar(900), scalar(2)}});
  EXPECT_EQ(range[0], range[1]);
  const Tensor x = Tensor::zeros(DType::f32, {4, 7});
  const auto tile = codes("tile", {}, {{x, list({2, 3})}, {x, list({50, 6})}});
  EXPECT_EQ(tile[0], tile[1]);
  const Tensor at = list({1, 2}), values = Tensor::zeros(DType::f32, {2});
  const auto one_hot = codes("one_hot", {}, {{at, scalar(5), values}, {at, scalar(64), values}});
  EXPECT_EQ(one_hot[0], one_hot[1]);
}

TEST(Plan, OpsWhoseProgramTakesValuesHaveCodeForEach) {
  const Tensor x = Tensor::zeros(DType::f32, {4, 7});
  const auto sum = codes("reduce_sum", {}, {{x, list({0})}, {x, list({1})}, {x, list({0})}});
  EXPECT_NE(sum[0], sum[1]);
  EXPECT_EQ(sum[0], sum[2]);
}

}  // namespace
}  // namespace rondel::compile
