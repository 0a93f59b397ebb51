#include "compile/check_mode.h"
#include "compile/plan_builder.h"

namespace rondel::compile {

ir::Graph compile_graph(
    ir::Graph g, const SessionOptions& options,
    const std::function<void(const passes::PassRun&, const ir::Graph&)>& after) {
  passes::PassOptions how;
  how.fuse_multiply_add = !options.strict;
  how.evaluate = make_evaluator();
  passes::run_pipelines(g, how, {verifies(), after});
  return g;
}

ir::Graph compile_graph_for(ir::Graph g, std::span<const ir::Type> inputs,
                            const SessionOptions& options) {
  passes::PassOptions how;
  how.fuse_multiply_add = !options.strict;
  how.evaluate = make_evaluator();
  const passes::PipelineOptions checks{verifies(), nullptr};
  passes::run(passes::canonicalize(), g, how, checks);
  passes::run(passes::optimize(), g, how, checks);
  const std::vector<ir::ValueId> params = g.root().params;
  for (std::size_t i = 0; i < inputs.size(); ++i) g.value(params[i]).type = inputs[i];
  passes::run(passes::specialize(), g, how, checks);
  return g;
}

void canonicalize(ir::Graph& g) {
  passes::PassOptions how;
  how.evaluate = make_evaluator();
  passes::run(passes::canonicalize(), g, how);
}

}  // namespace rondel::compile
