#pragma once
#include "ir/graph.h"

/// Softmax, LogSoftmax and Hardmax of opsets before 13, which flatten their input to a matrix.
namespace rondel::exporters {

/// Replaces a `reshape` that restores the shape of x after softmax(flatten(x, axis = k)), along the
/// columns, by one softmax with axis k that is marked as flattening. Returns whether it did. The
/// model's writer leaves out the nodes that are dead then.
bool join_flattened_softmax(ir::Graph&, ir::NodeId reshape);

/// Whether the node is marked so. Only opsets before 13 can express it.
bool is_flattened_softmax(const ir::Node&);
/// The name of the mark: an attribute that is not the op's own.
inline constexpr const char* flattened_mark = "rondel.flattened";

}  // namespace rondel::exporters
