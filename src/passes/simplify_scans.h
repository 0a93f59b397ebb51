#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// Simplifies what loops scan, count and stack:
/// - a scan of a tensor that certainly equals another tensor (a slice of all of it; a tensor whose
///   extents are asserted equal, and certainly are) scans that other tensor;
/// - where no condition ends the loop, a trip count that certainly is the extent of every scan is
///   removed. ONNX's Scan has this form; TensorRT's users read the count from a shape;
/// - in such a loop, slices that the body gathers by the trip's number become scans where the
///   gathered extent is the count too: ONNX Loops express a Scan this way. Gathers from other
///   extents stay, because the error past the end names the node;
/// - an extent of a stack that certainly is the number of trips is removed, whatever counts them.
///   TensorRT's users must give one. Where both are one number that may be negative the extent
///   stays, because a negative one is an error.
/// Types must have been inferred. Values that are unread afterwards are left for `remove_dead`.
bool simplify_scans(ir::Graph&);

}  // namespace rondel::passes
