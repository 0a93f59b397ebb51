#pragma once
#include "ir/graph.h"

#include <optional>
#include <span>

namespace rondel::passes {

/// Cuts loops into segments: a loop over the segments, whose body is a loop over the trips of one.
/// The gradient of that keeps the states at the beginnings of all segments, and what the trips of
/// one segment need, computed again; as in Chen et al., "Training Deep Nets with Sublinear Memory
/// Cost" (2016). All loops are cut that `variables` have influence on, nested ones as well.
///
/// `trips`: of a segment, 1 or more; none: the square root of the loop's trips, rounded up. A loop
/// with a condition runs once more before, for the number of its trips. Returns whether a loop was
/// cut. Throws Error(unsupported) for negative axes of stacks of unknown rank.
bool checkpoint_loops(ir::Graph&, std::optional<std::int64_t> trips,
                      std::span<const ir::ValueId> variables);

}  // namespace rondel::passes
