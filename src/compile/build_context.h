#pragma once
#include "compile/execution_log.h"
#include "compile/tiered_compiler.h"
#include "ir/graph.h"
#include "lowering/lower.h"

#include <rondel/session.h>

#include <memory>

namespace rondel::compile {

/// The inputs of plan building.
struct BuildContext {
  std::shared_ptr<const ir::Graph> graph;
  std::shared_ptr<TieredCompiler> compiler;
  lowering::LoweringOptions lowering = {};
  SessionOptions rewriting = {};           ///< for graphs that are made when the model runs
  std::shared_ptr<ExecutionLog> log = {};  ///< null: nothing is logged
};

}  // namespace rondel::compile
