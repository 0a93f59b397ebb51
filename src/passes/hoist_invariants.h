#pragma once
#include "passes/remarks.h"

namespace rondel::passes {

/// Loop-invariant code motion: nodes that compute the same in each trip move before the loop. A
/// node moves if all of these hold:
///  - It reads only constants and values from outside the loop, and draws no random numbers.
///  - Its results are floats, and it is costly or its results have no more elements than its
///    inputs.
///  - It cannot fail, because a loop may make no trip. An element-wise node over one tensor stays
///    if it fuses with all readers of its result.
bool hoist_invariants(ir::Graph&, Remarks* = nullptr);

}  // namespace rondel::passes
