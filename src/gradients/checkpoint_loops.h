#pragma once
#include "ir/graph.h"

#include <optional>
#include <span>

namespace rondel::gradients {

/// Splits loops into segments: an outer loop over the segments, whose body is a loop over the trips
/// of one segment. The gradient of such a nest keeps the states at the start of each segment and
/// recomputes the values of one segment at a time, as in Chen et al., "Training Deep Nets with
/// Sublinear Memory Cost" (2016). All loops that depend on `variables` are split, nested loops too.
///
/// `trips`: the number of trips per segment, at least 1. Default: the square root of the trip
/// count, rounded up. A loop with a condition first runs once more, to count its trips. Returns
/// whether a loop was split. Throws Error(unsupported) if a loop stacks tensors of unknown rank
/// along a negative axis.
bool checkpoint_loops(ir::Graph&, std::optional<std::int64_t> trips,
                      std::span<const ir::ValueId> variables);

}  // namespace rondel::gradients
