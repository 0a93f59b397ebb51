#pragma once
#include "ir/graph.h"

namespace rondel::session {

/// Replaces each `gradient` node, of which ONNX's Gradient becomes one, by nodes that compute what
/// it asks for; a graph that has any is canonical then. A node may differentiate what another one
/// gives. Throws Error(unsupported) where an op without a gradient stands between, and where what
/// is differentiated stands outside of the node's region.
void write_gradients(ir::Graph&);

}  // namespace rondel::session
