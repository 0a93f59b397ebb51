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

void canonicalize(ir::Graph& g) {
  passes::PassOptions how;
  how.evaluate = make_evaluator();
  passes::run(passes::canonicalize(), g, how);
}

}  // namespace rondel::compile
