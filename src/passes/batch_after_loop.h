#pragma once
#include "passes/remarks.h"

namespace rondel::passes {

/// Products with weights that a loop computes only to stack them: one call behind the loop computes
/// them for all trips and reads the weights once. The loop stacks what they are computed from,
/// unless it does so anyway. Nodes that a product leads to on the way to the stacks move with it.
/// Together they move if all of these hold:
///  - Nothing else reads their results: no other node, no state, no condition.
///  - All their stacks have the same direction, and no extent of their own: the zeros behind the
///    last item are no results.
///  - Each has one result, which keeps its shape, and a batch rule, draws no random numbers and
///    cannot fail. An extent that is no number may be of several operands only if no shapes in the
///    body can contradict each other: of a loop that makes no trip, such an extent may be 0 in one
///    stack alone.
///  - The product multiplies one value that differs from trip to trip by weights.
///  - Neither the new stacks together nor any value behind the loop take more than `most_growth`
///    times the bytes of the stacks that they replace. A product that makes little of much stays,
///    because its operands would take more memory and as much time to stack as to multiply.
///  - The loop is in no other loop, unless its extents and those of its stacks are numbers.
/// The number of trips need not be known. Results have the same bits: a product adds in the same
/// order for one row and for many.
bool batch_after_loop(ir::Graph&, Remarks* = nullptr);

}  // namespace rondel::passes
