#pragma once
#include "ir/graph.h"

/// Nodes that other readers of ONNX interpret differently, or refuse, in a form that all accept.
namespace rondel::exporters {

/// Returns whether the node changed; new nodes may stand in front of it then.
/// - Ellipses of an Einsum that stand for different numbers of axes (aligned at the last axis, as
/// in
///   NumPy): onnx and ONNX Runtime require one number, so axes of extent 1 are added.
/// - Pools that round up, below opset 22, whose last window would lie entirely in padding: we and
///   ONNX Runtime drop that window, onnx's inference counts it. Such a pool is written without
///   rounding up, with padding that gives the same windows. Needs known extents.
bool make_interoperable(ir::Graph&, ir::NodeId, int opset);

}  // namespace rondel::exporters
