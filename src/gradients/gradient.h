#pragma once
#include "ir/graph.h"

#include <span>
#include <vector>

namespace rondel::gradients {

/// Which values are differentiated, and with respect to which values. `targets` are defined in
/// `region`; `region` can read all `seed` and `wrt`.
struct GradientRequest {
  std::vector<ir::ValueId> targets;  ///< tensors of floats
  std::vector<ir::ValueId> seed;     ///< adjoints of the targets, of the same types; none: ones
  std::vector<ir::ValueId> wrt;      ///< tensors of floats
  ir::RegionId region = ir::RegionId::root;
  /// The new nodes are inserted before this node, which follows the targets; none: at the end.
  ir::NodeId before = ir::NodeId::none;
};

/// Adds nodes to a canonical graph that compute the adjoints of `wrt`: the sum over the targets of
/// each seed times the derivative. The adjoint of a value that no target depends on is zero.
/// Reverse mode, node by node. Throws Error(unsupported) if an op without a gradient is on a path
/// from `wrt` to the targets; the message names the path.
std::vector<ir::ValueId> add_gradient(ir::Graph&, const GradientRequest&);

}  // namespace rondel::gradients
