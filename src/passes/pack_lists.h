#pragma once
#include "passes/remarks.h"

namespace rondel::passes {

/// A list of tensors that loops or `if`s carry, or that a loop makes or reads, becomes a tensor
/// that grows (passes/packed_list.h). All lists that may be one another in a run change together: a
/// state with its first, next and last value, the results of an `if` with those of its branches, a
/// list with what is appended to it or removed from it. Their tensors must have one rank, and
/// shapes that certainly are equal but for one extent. A list that is an output of the graph is
/// made of the tensor at the end.
bool pack_lists(ir::Graph&, Remarks* = nullptr);

}  // namespace rondel::passes
