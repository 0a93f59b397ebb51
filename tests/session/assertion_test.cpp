#include "base/error.h"
#include "compile/plan_builder.h"
#include "compile/tiered_compiler.h"
#include "ir/builder.h"
#include "passes/pipeline.h"

#include <gtest/gtest.h>

#include <limits>

namespace rondel::session {
namespace {

using ir::ValueId;

/// Counts x up `trips` times. Assertions before the loop and in each trip check that x is below
/// `limit`.
ir::Graph counting() {
  ir::Graph g;
  ir::Builder b(g, ir::RegionId::root);
  const ValueId trips = g.add_param(ir::RegionId::root, ir::Type::scalar(DType::i64), "trips");
  const ValueId x = g.add_param(ir::RegionId::root, ir::Type::ranked(DType::f32, 1), "x");
  const ValueId limit = g.add_param(ir::RegionId::root, ir::Type::ranked(DType::f32, 1), "limit");
  const auto hold = [limit](ir::Builder& in, ValueId v, const char* source) {
    in.source(source);
    in.add("assertion", {in("less", {v, limit})}, {{"message", "too large"}}, 0);
  };
  hold(b, x, "node 'before'");
  ir::LoopParts p;
  p.has_trips = true;
  p.states = 1;
  p.fixed = {1};
  b.source("node 'count'");
  const auto body = [&](ir::Builder& in, std::span<const ValueId> params) {
    hold(in, params[2], "node 'inside'");
    return std::vector<ValueId>{params[1], in("add", {params[2], in.scalar(1.0F)})};
  };
  g.set_results(ir::RegionId::root, {b.loop(p, {trips, x}, body)[0]});
  return g;
}

/// The final x, or the error message.
std::string run(compile::Execution how, std::int64_t trips, const Tensor& x, const Tensor& limit) {
  ir::Graph g = counting();
  passes::run_pipelines(g, {}, {.verify = true});
  compile::BuildContext context;
  context.graph = std::make_shared<const ir::Graph>(std::move(g));
  context.compiler = std::make_shared<compile::TieredCompiler>(how);
  const runtime::Plan plan = compile::build_plan(context, ir::RegionId::root);
  runtime::Memory memory(std::numeric_limits<std::size_t>::max());
  runtime::Run run{memory, std::numeric_limits<std::int64_t>::max()};
  const runtime::FrameLease frame(plan, run);
  frame->set(plan.params[0], Tensor::scalar(trips));
  frame->set(plan.params[1], x);
  frame->set(plan.params[2], limit);
  try {
    frame->execute();
  } catch (const Error& e) { return e.what(); }
  return std::to_string((*frame)[plan.results[0]].tensor().data_as<float>()[0]);
}

TEST(Assertion, StaysThoughNothingReadsItAndNamesTheTrip) {
  const Tensor x = Tensor::from<float>({2}, {0, 1}), limit = Tensor::from<float>({2}, {9, 4});
  const Tensor low = Tensor::from<float>({1}, {1});
  for (const compile::Execution how :
       {compile::Execution::interpreter, compile::Execution::compiled}) {
    EXPECT_EQ(run(how, 3, x, limit), "3.000000");
    EXPECT_EQ(run(how, 4, x, limit), "node 'count', trip 3: node 'inside': too large");
    EXPECT_EQ(run(how, 0, x, low), "node 'before': too large");
  }
}

}  // namespace
}  // namespace rondel::session
