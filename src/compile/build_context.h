#pragma once
#include "compile/execution_log.h"
#include "compile/program_compiler.h"
#include "ir/graph.h"
#include "lowering/lower.h"
#include "runtime/plan.h"

#include <rondel/session.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace rondel::compile {

/// What a step was made of: nodes in order, the values that they read (`Step::inputs`, then what
/// the regions of a loop or an `if` capture), and the values that they make (`Step::outputs`).
struct StepOrigin {
  std::vector<ir::NodeId> nodes;
  std::vector<ir::ValueId> inputs, outputs;
  lowering::Group group = {};  ///< of a step that is a program
};
using StepOrigins = std::map<const runtime::Step*, StepOrigin>;

/// The inputs of plan building.
struct BuildContext {
  std::shared_ptr<const ir::Graph> graph;
  std::shared_ptr<ProgramCompiler> compiler;
  lowering::LoweringOptions lowering = {};
  SessionOptions rewriting = {};              ///< for graphs that are made when the model runs
  std::shared_ptr<ExecutionLog> log = {};     ///< null: nothing is logged
  std::shared_ptr<StepOrigins> origins = {};  ///< null: nobody asks for them
  std::shared_ptr<lowering::GroupRemarks> remarks = {};  ///< null: nobody asks for them
};

/// Whether code for these very shapes would be that of their class.
inline bool all_shapes_declared(std::span<const ir::Type> declared) {
  return std::ranges::all_of(
      declared, [](const ir::Type& t) { return t.is_tensor() && t.has_rank() && t.is_static(); });
}

/// When to ask for code of shapes that come again and again: soon, if programs are compiled at any
/// cost.
inline runtime::ComeAgain when_to_ask(const ProgramCompiler& c) {
  return {c.compiles_at_once() ? 1U : 8U};
}

}  // namespace rondel::compile
