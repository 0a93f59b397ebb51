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
/// - A Squeeze or Unsqueeze whose list of axes is empty: ONNX Runtime's Squeeze removes all axes of
///   extent 1, as if there were no list, and before opset 13 none can be written. It becomes
///   Identity.
/// - A ConvInteger with a zero point for each channel of w: ONNX Runtime takes one. If all are
///   equal, that one is written, or none if it is 0. Else what they take from the convolution is
///   subtracted after it: each times the sum of x in the window.
/// - A Resize below opset 13: its roi and scales are no optional inputs there, but may be empty.
bool make_interoperable(ir::Graph&, ir::NodeId, int opset);

}  // namespace rondel::exporters
