#pragma once
#include "ir/graph.h"

namespace rondel::session {

/// Replaces each `gradient` node (the import of ONNX's Gradient) by nodes that compute the
/// gradient. A graph that has `gradient` nodes is canonical afterwards. A `gradient` node may
/// differentiate the result of another one. Throws Error(unsupported) if an op without a gradient
/// is on the path, or if the differentiated value or a variable is not in the region of the node.
void write_gradients(ir::Graph&);

}  // namespace rondel::session
