#pragma once
#include "passes/remarks.h"

namespace rondel::passes {

/// Loop unswitching: a loop with an `if` whose condition is a value from outside becomes an `if`
/// with that condition, whose branches are copies of the loop. In each copy the branch that it
/// takes replaces every `if` with the condition, at any depth: nothing is decided in a trip, and
/// what follows fuses. A loop is copied if all of these hold:
///  - The condition certainly is one element: the new `if` cannot fail where the loop makes no
///  trip.
///  - The loop has few nodes: `most_nodes_to_copy`.
///  - Its results that are read are tensors. In another loop their extents are numbers: no extent
///    becomes known late.
///  - Both branches of each `if` give tensors of the same types.
///  - Each item has the same type in the loop and in both copies, which tells its shape where the
///    loop makes no trip. Its extents are numbers, or no shapes in the body can contradict each
///    other.
bool unswitch_loops(ir::Graph&, Remarks* = nullptr);

}  // namespace rondel::passes
