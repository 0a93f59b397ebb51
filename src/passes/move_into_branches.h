#pragma once
#include "passes/remarks.h"

namespace rondel::passes {

/// Where the branches of an `if` in a loop give unlike ranks, what reads the result is computed in
/// each branch, up to where the ranks agree again: a rank that data decide keeps the loop from
/// being compiled as a whole. Exporters write `squeeze` of an axis that may have another extent
/// than 1 as such an `if`. Nodes move if all of these hold:
///  - The results that others read then have one rank, of each state the rank that it begins with.
///  - The copies in all branches have few nodes together, loops counted with all in them.
///  - What follows accepts what each branch gives.
///  - The condition does not follow from shapes that are known when the loop begins.
///  - Each stack that depends on them keeps its shape where the loop makes no trip: its items keep
///  their types, or a trip is certain, or nodes behind the loop, which is in no other one, give the
///  shape that a stack has whose rank nothing tells.
bool move_into_branches(ir::Graph&, Remarks* = nullptr);

}  // namespace rondel::passes
