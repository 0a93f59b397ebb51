#pragma once
#include "ir/graph.h"

#include <span>

namespace rondel::gradients {

/// Inserts a `stop_gradient` after each of the values, and lets the readers of the value read the
/// `stop_gradient` instead. The values are tensors of floats, in any region. Unlike value names,
/// these nodes survive rewrites of the graph.
void stop_gradients(ir::Graph&, std::span<const ir::ValueId>);

}  // namespace rondel::gradients
