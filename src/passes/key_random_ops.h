#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// Gives every random node without inputs the operands that its random numbers depend on: the seed
/// of the run, the number of the node, and the trip indices of the loops around the node, outermost
/// first. If there is such a node, the seed becomes the last parameter of the root region, a u64[].
/// After this pass, random nodes are pure functions of their operands.
bool key_random_ops(ir::Graph&);

}  // namespace rondel::passes
