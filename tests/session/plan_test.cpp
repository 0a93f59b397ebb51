#include "ir/builder.h"
#include "session/plan_builder.h"

#include <gtest/gtest.h>

namespace rondel::session {
namespace {

using ir::Extent;
using ir::ValueId;

/// Two products, one after the other, between `a` of the given type and weights f32[4, 4].
runtime::Plan plan_of_products(const ir::Type& a) {
  auto graph = std::make_shared<ir::Graph>();
  ir::Builder b(*graph, ir::RegionId::root);
  const ValueId x = graph->add_param(ir::RegionId::root, a, "a");
  const ValueId weights = graph->add_param(
      ir::RegionId::root, ir::Type::tensor(DType::f32, ir::Extents{4, 4}), "weights");
  const ValueId once = b("mat_mul", {x, weights});
  graph->root().results = {b("mat_mul", {once, weights})};
  Building building;
  building.graph = graph;
  building.code = std::make_shared<Code>(Execution::interpreter);
  return build_plan(building, ir::RegionId::root);
}

TEST(Plan, ATemporaryOfSymbolicExtentHasItsPlaceInTheArena) {
  const runtime::Plan plan = plan_of_products(
      ir::Type::tensor(DType::f32, ir::Extents{Extent("n"), 4}));
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

}  // namespace
}  // namespace rondel::session
