#include "passes/extract.h"
#include "session/plan_builder.h"

#include <algorithm>
#include <limits>

namespace rondel::session {

ir::Evaluator make_evaluator() {
  return [](const ir::Graph& g, ir::NodeId n,
            std::span<const Tensor* const> inputs) -> std::vector<Value> {
    const ir::Node& node = g.node(n);
    passes::Group group{.nodes = {n}};
    std::vector<Value> values;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const ir::ValueId v = node.inputs[k];
      if (v == ir::ValueId::none || g.constant(v) != nullptr ||
          std::find(group.inputs.begin(), group.inputs.end(), v) != group.inputs.end())
        continue;
      group.inputs.push_back(v);
      values.emplace_back(*inputs[k]);
    }
    for (const ir::ValueId v : node.outputs)
      if (v != ir::ValueId::none) group.outputs.push_back(v);
    Building b;
    b.graph = std::make_shared<const ir::Graph>(passes::extract(g, group));
    b.compiler = std::make_shared<TieredCompiler>(Execution::interpreter);
    b.lowering.borrowed_kernels = false;
    const runtime::Plan plan = build_plan(b, ir::RegionId::root);
    runtime::Memory memory(std::numeric_limits<std::size_t>::max());
    runtime::Run run{memory, std::numeric_limits<std::int64_t>::max()};
    runtime::FrameLease frame(plan, run);
    for (std::size_t k = 0; k < values.size(); ++k) frame->set(plan.params[k], values[k]);
    frame->execute();
    std::vector<Value> results;
    std::size_t next = 0;
    for (const ir::ValueId v : node.outputs)
      results.push_back(v == ir::ValueId::none ? Value() : (*frame)[plan.results[next++]]);
    return results;
  };
}

}  // namespace rondel::session
