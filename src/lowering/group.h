#pragma once
#include "ir/infer.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace rondel::lowering {

/// Nodes of a region that become one step.
struct Group {
  /// In order; but behind the others are those in `inlined`, then those in `views`.
  std::vector<ir::NodeId> nodes = {};
  /// Values from outside the group, each once, in order of first use.
  std::vector<ir::ValueId> inputs = {};
  std::vector<ir::ValueId> outputs = {};  ///< read outside the group, in order of definition
  bool program = false;  ///< one scalar program; otherwise a single node of another kind
  /// The nodes run row by row (`RowSchedule`); otherwise they give elements of one index space.
  bool by_rows = false;
  /// So many of the nodes compute the elements of the first node's input 0 where it reads them:
  /// these have no memory.
  std::size_t inlined = 0;
  /// So many of the nodes, the last ones, are views, which the others read where the input of the
  /// view lies. Other groups may have the same views.
  std::size_t views = 0;
  /// The nodes whose results are stored or kept in registers.
  std::span<const ir::NodeId> computed() const {
    return std::span(nodes).first(nodes.size() - inlined - views);
  }
  std::span<const ir::NodeId> inlined_nodes() const {
    return std::span(nodes).subspan(nodes.size() - inlined - views, inlined);
  }
  std::span<const ir::NodeId> view_nodes() const { return std::span(nodes).last(views); }
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
  /// For groups whose program is part of a larger one. As above, and a reduction's group takes in
  /// the nodes that compute elements for the reduction alone, and views are in each group that
  /// reads them, if all can read them in place: a product the beginning of a buffer
  /// (`ViewMeaning::is_beginning`) or its matrices (`ViewMeaning::keeps_matrices`), other nodes
  /// rows (`ViewMeaning::keeps_rows`). These nodes copy and store nothing then.
  parts,
};

/// By the first node of a group, why the group is apart from groups whose values it reads: "not
/// fused with 'z': ...", with the reason.
using GroupRemarks = std::map<ir::NodeId, std::vector<std::string>>;

/// Partitions the nodes of a region into groups, in an order in which they can run. `constant`
/// nodes are in no group. `remarks`: null if nobody asks; those of the region are added.
std::vector<Group> group_nodes(const ir::Graph&, ir::RegionId, const ir::Types& types, Sharing,
                               GroupRemarks* remarks = nullptr);

}  // namespace rondel::lowering
