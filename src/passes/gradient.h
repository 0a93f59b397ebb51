#pragma once
#include "ir/graph.h"

#include <span>
#include <vector>

namespace rondel::passes {

/// What is differentiated by what. `of` is made in `region`, where all values can be read.
struct GradientRequest {
  std::vector<ir::ValueId> of;    ///< tensors of floats
  std::vector<ir::ValueId> seed;  ///< their adjoints, of the same types; none: ones
  std::vector<ir::ValueId> by;    ///< tensors of floats
  ir::RegionId region = ir::RegionId::root;
  ir::NodeId before = ir::NodeId::none;  ///< where the nodes go, behind `of`; none: last
};

/// Adds nodes to a canonical graph that compute the adjoints of `by`: the sum over `of` of each
/// seed times the derivative. Zeros where there is no influence. Reverse mode, node by node. Throws
/// Error(unsupported) where an op without a gradient stands between, naming the path to it.
std::vector<ir::ValueId> add_gradient(ir::Graph&, const GradientRequest&);

}  // namespace rondel::passes
