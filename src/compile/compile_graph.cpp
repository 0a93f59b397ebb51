#include "base/error.h"
#include "compile/check_mode.h"
#include "compile/plan_builder.h"
#include "lowering/empty_stacks.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace rondel::compile {
namespace {

/// Throws if what a loop stacks has a shape that types of the model do not tell. Without trips,
/// such a stack has the shape that is known of its items (docs/loops.md, rule 3), and of a graph
/// for certain shapes more may be known.
void need_types_of_items(const ir::Graph& g) {
  for (const ir::NodeId n : ir::loops_inside_out(g)) {
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

/// A stack, and what is known of its items if its loop makes no trip.
struct EmptyStack {
  ir::ValueId stack;
  std::string name;
  ir::Type item;
};

std::vector<EmptyStack> empty_stacks(const ir::Graph& g, const ir::Evaluator& evaluate) {
  ir::TypeEnvironment k = ir::type_environment(g);
  ir::infer_region(g, ir::RegionId::root, k, evaluate);
  std::vector<EmptyStack> all;
  for (const ir::NodeId n : ir::loops_inside_out(g)) {
    const ir::LoopParts parts(g.node(n));
    if (parts.stacks == 0) continue;
    ir::TypeEnvironment known = k;
    if (parts.has_trips)
      known.values[static_cast<std::int32_t>(g.node(n).inputs[parts.trips_at()])] =
          Tensor::scalar<std::int64_t>(0);
    const std::vector<ir::Type> types = lowering::items_without_trips(g, n, known, evaluate);
    for (std::size_t s = 0; s < parts.stacks; ++s)
      if (const ir::ValueId stack = g.node(n).outputs[parts.states + s]; stack != ir::ValueId::none)
        all.push_back({stack, g.value(stack).name, types[s]});
  }
  return all;
}

/// Throws if a stack without trips would have another shape than it has before the passes: of
/// operands that do not go together, less may be known after them, and more where a value that
/// items depend on has become a constant. A stack that was not there before is that of a copy of a
/// loop, and is compared with all of its name.
void need_same_items(std::span<const EmptyStack> before, std::span<const EmptyStack> after,
                     const ir::Graph& g) {
  for (const EmptyStack& now : after) {
    const bool was_there = std::ranges::count(before, now.stack, &EmptyStack::stack) > 0;
    for (const EmptyStack& then : before) {
      const bool same = was_there ? then.stack == now.stack
                                  : !then.name.empty() && then.name == now.name;
      if (same && !(then.item == now.item))
        unsupported("{} stacks {} without trips; expected {}",
                    ir::where(g, g.value(now.stack).producer), to_text(now.item),
                    to_text(then.item));
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
  lowering::complete_declared_items(g);
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
  const std::vector<EmptyStack> before = empty_stacks(g, how.evaluate);
  passes::run(passes::specialize(), g, how, {verifies(), nullptr});
  need_same_items(before, empty_stacks(g, how.evaluate), g);
  return g;
}

void canonicalize(ir::Graph& g) {
  passes::PassOptions how;
  how.evaluate = make_evaluator();
  passes::run(passes::canonicalize(), g, how);
}

}  // namespace rondel::compile
