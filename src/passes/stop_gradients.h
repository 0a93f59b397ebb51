#pragma once
#include "ir/graph.h"

#include <span>

namespace rondel::passes {

/// Puts a `stop_gradient` behind each of the values, which are tensors of floats at any depth: what
/// reads them reads that. Unlike names, these nodes stay where they are needed while a graph is
/// rewritten.
void stop_gradients(ir::Graph&, std::span<const ir::ValueId>);

/// Readers of `stop_gradient`s read their inputs again.
void remove_gradient_stops(ir::Graph&);

}  // namespace rondel::passes
