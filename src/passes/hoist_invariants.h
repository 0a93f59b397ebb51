#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// What a loop computes anew in each trip from values that it does not change is computed once,
/// before it. A node moves where
///  - it reads constants and values from outside alone, and draws no random numbers,
///  - it gives floats, and is costly or gives no more elements than it reads,
///  - it cannot fail, since a loop may make no trip.
/// A single element-wise pass over one tensor stays, where the readers of its result do it on the
/// way.
bool hoist_invariants(ir::Graph&);

}  // namespace rondel::passes
