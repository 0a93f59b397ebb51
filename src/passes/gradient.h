#pragma once
#include "ir/graph.h"

#include <span>
#include <vector>

namespace rondel::passes {

/// What is differentiated by what. All values stand in the root region.
struct GradientRequest {
  std::vector<ir::ValueId> of;    ///< tensors of floats
  std::vector<ir::ValueId> seed;  ///< their adjoints, of the same types; none: ones
  std::vector<ir::ValueId> by;    ///< tensors of floats
  std::vector<ir::ValueId> stop;  ///< nothing flows through these
};

/// Appends nodes to a canonical graph that compute the adjoints of `by`: the sum over `of` of each
/// seed times the derivative. Zeros where there is no influence. Reverse mode, node by node. Throws
/// Error(unsupported) where an op without a gradient stands between, naming the path to it.
std::vector<ir::ValueId> add_gradient(ir::Graph&, const GradientRequest&);

}  // namespace rondel::passes
