#pragma once
#include "frontends/mdf/layout.h"
#include "frontends/mdf/node_step.h"

#include <unordered_map>
#include <vector>

namespace rondel::mdf {

/// Whether a node was executed before: statically true (`certain`), statically false (`flag` is
/// none), or given by the bool value `flag`.
struct Executed {
  bool certain = false;
  ValueId flag = ValueId::none;
};

/// The current values of a model while an evaluation is written.
struct Table {
  std::vector<ValueId> values;     ///< by slot; none if the slot has no value yet
  std::vector<Executed> executed;  ///< by node
};

/// The inputs that all node executions of an evaluation share.
struct EvaluationContext {
  const Graph& graph;
  const Layout& layout;
  ValueId first;  ///< bool: whether this evaluation resets integrated states
  ValueId dt;
  /// External values of input ports, in place of their defaults.
  std::unordered_map<const InputPort*, ValueId> inputs;
  Replacements replacements;
  FunctionOptions functions;
};

/// Writes the execution of a node: its ports from the edges, then the node. Updates the table with
/// its results.
void execute_node(ir::Builder&, const EvaluationContext&, std::size_t node, Table&);

}  // namespace rondel::mdf
