#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// What a loop computes anew in each trip from values that it does not change is computed once,
/// before it: floats that cost something or are no larger than what they are computed from, by
/// nodes that cannot fail, since a loop may make no trip. Random draws and branches stay, as does a
/// single element-wise pass over one tensor that the readers of its result do on the way.
bool hoist_invariants(ir::Graph&);

}  // namespace rondel::passes
