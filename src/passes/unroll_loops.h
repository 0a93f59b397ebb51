#pragma once
#include "passes/remarks.h"

namespace rondel::passes {

/// Loop unrolling: a loop in a loop that certainly makes at most four trips, in each run, becomes
/// the nodes of its trips, so that they fuse with what is around them. Applies to bodies that are
/// small, hold no loop, and whose items and fixed states have known shapes. A loop that is in no
/// other loop stays: it is compiled as a whole. Types must have been inferred.
bool unroll_loops(ir::Graph&, Remarks* = nullptr);

}  // namespace rondel::passes
