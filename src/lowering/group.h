#pragma once
#include "ir/infer.h"

#include <map>
#include <string>
#include <vector>

namespace rondel::lowering {

/// Nodes of a region that become one step.
struct Group {
  /// In order; but a product is followed by the nodes whose results it reads in place.
  std::vector<ir::NodeId> nodes = {};
  /// Values from outside the group, each once, in order of first use.
  std::vector<ir::ValueId> inputs = {};
  std::vector<ir::ValueId> outputs = {};  ///< read outside the group, in order of definition
  bool program = false;  ///< one scalar program; otherwise a single node of another kind
  /// The nodes run row by row (`RowSchedule`); otherwise they give elements of one index space.
  bool by_rows = false;
  /// So many of the nodes, the last ones, compute the elements of the first node's input 0 where
  /// it reads them: these have no memory.
  std::size_t inlined = 0;
  /// Indices of the inputs whose values the types depend on, and of those whose values the program
  /// depends on, too.
  std::vector<std::size_t> value_inputs = {}, program_values = {};
};

/// Which nodes share a group.
enum class Sharing {
  none,  ///< every node is a group of its own
  /// Element-wise nodes over one index space that read one another, so that the values between them
  /// stay in registers; and reductions of rows with what makes and what reads their rows
  /// (`RowSchedule`).
  steps,
  /// For groups whose program is part of a larger one. As above, and a product's group takes in the
  /// nodes that give a beginning of a buffer (`ReadingView::is_beginning`) or its matrices
  /// (`ViewMeaning::keeps_matrices`) that only products read, each of which has them in its group;
  /// and that of another reduction those that compute elements for the reduction alone. They copy
  /// and store nothing then.
  parts,
};

/// By the first node of a group, why the group is apart from groups whose values it reads: "another
/// index space than 'z'".
using GroupRemarks = std::map<ir::NodeId, std::vector<std::string>>;

/// Partitions the nodes of a region into groups, in an order in which they can run. `constant`
/// nodes are in no group. `remarks`: null if nobody asks; those of the region are added.
std::vector<Group> group_nodes(const ir::Graph&, ir::RegionId, const ir::Types& types, Sharing,
                               GroupRemarks* remarks = nullptr);

}  // namespace rondel::lowering
