#pragma once
#include "passes/remarks.h"

namespace rondel::passes {

/// Removes carried states of loops whose values are known without carrying them:
/// - A state whose next value is itself, or equal to its initial value, is the initial value.
/// - An integer to which each trip adds the same number is a function of the trip index: the
///   initial value plus the number times the index. Integers wrap around in both.
/// - Of two states that begin as equal values and are computed in the same way, one remains.
/// Final values are computed after the loop from the number of trips made. Types must have been
/// inferred. Nodes that nothing reads afterwards are left for `remove_dead`.
bool simplify_states(ir::Graph&, Remarks* = nullptr);

}  // namespace rondel::passes
