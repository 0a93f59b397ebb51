#pragma once
#include "passes/remarks.h"

namespace rondel::passes {

/// Simplifies the scans, trip counts and stacks of loops:
/// - A scan of a tensor that certainly equals another tensor (a slice of all of it, or a tensor
///   with assertions about its extents that certainly hold) scans the other tensor.
/// - If no condition ends the loop, a trip count that certainly equals the extent of every scan is
///   removed. ONNX's Scan has no trip count; users of TensorRT read the trip count from a shape.
/// - In such a loop, slices that the body gathers with the trip index become scans if the gathered
///   extent equals the trip count: this is how ONNX Loops express a Scan. Gathers along other
///   extents stay, because the error for an index past the end names the node.
/// - An extent of a stack that certainly equals the trip count is removed. (Users of TensorRT must
///   give one.) If extent and trip count are one number that may be negative, the extent stays,
///   because a negative extent is an error. Types must have been inferred. Values that are unread
///   afterwards are left for `remove_dead`.
bool simplify_scans(ir::Graph&, Remarks* = nullptr);

}  // namespace rondel::passes
