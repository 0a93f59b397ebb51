#pragma once
#include "passes/remarks.h"

namespace rondel::passes {

/// Reads and joins lists of tensors without the lists, where this gives the same values:
/// - what is read of the slices of a tensor (`split_to_sequence`) is read of the tensor;
/// - what is read of a list of named tensors is one of them, or their concatenation;
/// - a list that is a loop's state, begins empty and gets one tensor in each trip, becomes a stack,
///   and what is read of the list after the loop is read of the stack.
/// A list that is joined must not be empty: an assertion says so if it is.
bool lists_to_tensors(ir::Graph&, Remarks* = nullptr);

}  // namespace rondel::passes
