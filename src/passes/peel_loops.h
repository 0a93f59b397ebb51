#pragma once
#include "passes/remarks.h"

namespace rondel::passes {

/// A loop some of whose states change their rank has no native code. Two kinds of them have one
/// after this:
///  - Peeling: where the ranks hold from the second trip on (`h = 0` before a loop of `h = h + x`),
///    the first trip is computed before the loop, in an `if` unless it is certain.
///  - Unrolling: where a state changes its rank in each trip, the number of trips is known and
///    small, and no condition ends the loop, all trips are straight code.
/// Nodes are copied if all of these hold:
///  - The copies have few nodes together.
///  - No state is `fixed`, and no stack that is read has an extent of its own.
///  - The items of each stack that is read have the same type in the trips that are copied and in
///    the others, with extents that are numbers or names.
///  - No scan is known to be shorter than these trips.
///  - The body does not read its condition, or one is given.
bool peel_loops(ir::Graph&, Remarks* = nullptr);

}  // namespace rondel::passes
