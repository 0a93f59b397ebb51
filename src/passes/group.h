#pragma once
#include "ir/infer.h"

#include <vector>

namespace rondel::passes {

/// Nodes of a region that become one step.
struct Group {
  std::vector<ir::NodeId> nodes = {};
  std::vector<ir::ValueId> inputs = {};   ///< read from outside, each once, in order of first use
  std::vector<ir::ValueId> outputs = {};  ///< read outside of the group, in order of definition
  bool program = false;  ///< one scalar program; otherwise a single node of another kind
  /// Of `inputs`: those whose values the types depend on, and of these, the program.
  std::vector<std::size_t> value_inputs = {}, program_values = {};
};

/// Cuts a region into steps, in an order in which they can run. Element-wise nodes over one index
/// space are grouped, so that values between them stay in registers; with `fuse` false every node
/// is a group of its own. Nodes of `constant` are in no group.
std::vector<Group> group_nodes(const ir::Graph&, ir::RegionId, const ir::Types& types, bool fuse);

}  // namespace rondel::passes
