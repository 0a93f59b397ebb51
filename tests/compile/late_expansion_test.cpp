// Composite ops whose inputs' ranks the model does not tell.
#include "base/error.h"
#include "compile/plan_builder.h"
#include "compile/tiered_compiler.h"
#include "ir/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace rondel::compile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

runtime::Plan plan_of(const std::string& nodes) {
  BuildContext context;
  context.graph = std::make_shared<const ir::Graph>(
      compile_graph(ir::parse("graph \"g\" (%x: f32[...]) {\n" + nodes + "\nyield %y\n}"), {}));
  context.compiler = std::make_shared<TieredCompiler>(Execution::quick, true);
  return build_plan(context, ir::RegionId::root);
}

Tensor run(const runtime::Plan& plan, const Tensor& x) {
  runtime::Memory memory(std::numeric_limits<std::size_t>::max(), true);
  runtime::Run run{memory, std::numeric_limits<std::int64_t>::max()};
  const runtime::FrameLease frame(plan, run);
  frame->set(plan.params[0], x);
  frame->execute();
  return (*frame)[plan.results[0]].tensor().packed();
}

TEST(LateExpansion, OnePlanRunsWithSeveralRanks) {
  const runtime::Plan plan = plan_of("%y = global_average_pool(%x)");
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(run(plan, Tensor::from<float>({1, 1, 2}, {1, 3})).shape(), ElementsAre(1, 1, 1));
    const Tensor square = run(plan, Tensor::from<float>({1, 1, 2, 2}, {1, 2, 3, 6}));
    EXPECT_THAT(square.shape(), ElementsAre(1, 1, 1, 1));
    EXPECT_EQ(square.data_as<float>()[0], 3);
  }
}

TEST(LateExpansion, WhatTheTypeRuleRefusesIsRefused) {
  const runtime::Plan plan = plan_of("%y = global_average_pool(%x)  // from \"node 'pool'\"");
  try {
    run(plan, Tensor::from<float>({2}, {1, 3}));
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("expected [n, channels, spatial...]"));
  }
}

TEST(LateExpansion, AKnownRankLeavesNothingForLater) {
  ir::Graph g = ir::parse(R"g(graph "g" (%x: f32[?, ?, ?]) {
    %y = global_average_pool(%x)
    yield %y
  })g");
  EXPECT_THAT(ir::to_text(compile_graph(std::move(g), {})),
              testing::Not(HasSubstr("global_average_pool")));
}

}  // namespace
}  // namespace rondel::compile
