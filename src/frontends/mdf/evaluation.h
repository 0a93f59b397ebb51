#pragma once
#include "frontends/mdf/layout.h"
#include "frontends/mdf/node_step.h"

#include <unordered_map>
#include <vector>

namespace rondel::mdf {

/// Whether a node was executed before: certainly, certainly not, or as a bool value tells.
struct Executed {
  bool certain = false;
  ValueId tells = ValueId::none;
};

/// The values of a model at a point of an evaluation.
struct Table {
  std::vector<ValueId> values;     ///< by slot; none: it has none yet
  std::vector<Executed> executed;  ///< by node
};

/// What every execution within an evaluation sees.
struct Surroundings {
  const Graph& graph;
  const Layout& layout;
  ValueId first;  ///< bool: the evaluation that begins states
  ValueId dt;
  /// Values given to input ports from outside, in place of their defaults.
  std::unordered_map<const InputPort*, ValueId> inputs;
  Replacements replacements;
  FunctionOptions functions;
};

/// Executes a node: edges into its ports, then the node; what it leaves behind is put in the table.
void execute_node(ir::Builder&, const Surroundings&, std::size_t node, Table&);

}  // namespace rondel::mdf
