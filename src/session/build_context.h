#pragma once
#include "ir/graph.h"
#include "passes/lower.h"
#include "session/execution_log.h"
#include "session/tiered_compiler.h"

#include <memory>

namespace rondel::session {

/// The inputs of plan building.
struct BuildContext {
  std::shared_ptr<const ir::Graph> graph;
  std::shared_ptr<TieredCompiler> compiler;
  passes::LoweringOptions lowering = {};
  std::shared_ptr<ExecutionLog> log = {};  ///< null: nothing is logged
};

}  // namespace rondel::session
