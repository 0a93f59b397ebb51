#pragma once
#include "ir/graph.h"

/// Rewrites nodes that other readers of ONNX interpret differently, or refuse, to a form that all
/// accept.
namespace rondel::exporters {

/// Returns whether the node changed; new nodes may have been inserted before it.
/// - An Einsum whose ellipses stand for different numbers of axes (aligned at the last axis, as in
///   NumPy): onnx and ONNX Runtime require the same number, so axes of extent 1 are added.
/// - A pool that rounds up, below opset 22, whose last window would lie entirely in padding: we and
///   ONNX Runtime drop that window, onnx's inference counts it. Such a pool is written without
///   rounding up, with padding that gives the same windows. Needs known extents.
/// - A Resize below opset 13: its roi and scales are no optional inputs there, but may be empty.
bool make_interoperable(ir::Graph&, ir::NodeId, int opset);

}  // namespace rondel::exporters
