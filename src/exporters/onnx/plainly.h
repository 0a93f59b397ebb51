#pragma once
#include "ir/graph.h"

/// Nodes that other readers of ONNX take otherwise than we do, or not at all, put as all take them.
namespace rondel::exporters {

/// True when the node changed; nodes that it reads may stand in front of it now.
/// - Ellipses of an Einsum that stand for different numbers of axes (aligned at the last, as in
///   NumPy): onnx and ONNX Runtime want one number, so that axes of extent 1 are added.
/// - Pools that round up, below opset 22, where the last window would lie wholly in padding: it is
///   left out here and in ONNX Runtime, but counted by onnx's inference there. They are written
///   without rounding up, under the padding that gives the same windows. Needs known extents.
bool put_plainly(ir::Graph&, ir::NodeId, int opset);

}  // namespace rondel::exporters
