#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// Gives every random node without inputs the operands that its draws depend on: the run's seed,
/// the node's number, and the trips of the loops around it, outermost first. The seed becomes the
/// root's last parameter, a u64[], where there is such a node. After it draws are values like any
/// other.
bool key_random_ops(ir::Graph&);

}  // namespace rondel::passes
