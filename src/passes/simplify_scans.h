#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// A loop reads what it scans as it is, and counts its trips only where its scans do not; its
/// stacks have extents of their own only where those may be other than its trips:
/// - a scan of a tensor that is another one unchanged (a slice of all of it; extents that are
///   asserted equal, and certainly are) scans that one;
/// - a trip count that certainly is the extent of every scan is left out, where no condition ends
///   the loop. That is how ONNX's Scan is said; TensorRT's users read the count from a shape;
/// - there, slices that the body gathers by the trip's number, of extents that are the count, too,
///   are scans: how a Scan is said as an ONNX Loop. Of other extents they stay what they are,
///   because an error past the end names the node;
/// - an extent of a stack that certainly is the number of trips is left out, whatever counts them.
///   TensorRT's users must give one. Where both are one number that may be negative it stays,
///   because that is an error.
/// Types must be there. What is then unread is left for `remove_dead`.
bool simplify_scans(ir::Graph&);

}  // namespace rondel::passes
