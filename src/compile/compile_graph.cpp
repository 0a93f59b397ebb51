#include "base/error.h"
#include "compile/check_mode.h"
#include "compile/plan_builder.h"
#include "lowering/empty_stacks.h"
#include "passes/loop_body.h"

#include <algorithm>

namespace rondel::compile {
namespace {

/// Throws if what a loop stacks has a shape that types of the model do not tell. Without trips,
/// such a stack has the shape that is known of its items (docs/loops.md, rule 3), and of a graph
/// for certain shapes more may be known.
void need_types_of_items(const ir::Graph& g) {
  for (const ir::NodeId n : passes::loops_inside_out(g)) {
    const ir::LoopParts parts(g.node(n));
    for (std::size_t s = 0; s < parts.stacks; ++s) {
      const ir::Type& item = g.value(g.region(parts.body).results[1 + parts.states + s]).type;
      const auto is_told = [](const ir::Extent& e) {
        return e.known() || (e.symbolic() && e.symbol.is_of_models());
      };
      if (!item.has_rank() || !std::ranges::all_of(item.extents(), is_told))
        unsupported("{} stacks {}; without trips its extents are those that the model tells",
                    ir::where(g, n), to_text(item));
    }
  }
}

}  // namespace

ir::Graph compile_graph(
    ir::Graph g, const SessionOptions& options,
    const std::function<void(const passes::PassRun&, const ir::Graph&)>& after) {
  passes::PassOptions how;
  how.fuse_multiply_add = !options.strict;
  how.evaluate = make_evaluator();
  passes::run_pipelines(g, how, {verifies(), after});
  lowering::declare_items(g);
  return g;
}

ir::Graph optimize_graph(ir::Graph g, const SessionOptions& options) {
  passes::PassOptions how;
  how.fuse_multiply_add = !options.strict;
  how.evaluate = make_evaluator();
  const passes::PipelineOptions checks{verifies(), nullptr};
  passes::run(passes::canonicalize(), g, how, checks);
  passes::run(passes::optimize(), g, how, checks);
  return g;
}

ir::Graph compile_graph_for(ir::Graph g, std::span<const ir::Type> inputs,
                            const SessionOptions& options) {
  g = optimize_graph(std::move(g), options);
  need_types_of_items(g);
  lowering::declare_items(g);
  const std::vector<ir::ValueId> params = g.root().params;
  for (std::size_t i = 0; i < inputs.size(); ++i) g.value(params[i]).type = inputs[i];
  passes::PassOptions how;
  how.fuse_multiply_add = false;
  how.evaluate = make_evaluator();
  passes::run(passes::specialize(), g, how, {verifies(), nullptr});
  return g;
}

void canonicalize(ir::Graph& g) {
  passes::PassOptions how;
  how.evaluate = make_evaluator();
  passes::run(passes::canonicalize(), g, how);
}

}  // namespace rondel::compile
