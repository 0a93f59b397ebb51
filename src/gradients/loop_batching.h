#pragma once
#include "ir/builder.h"

#include <vector>

namespace rondel::gradients {

/// Replaces work of single trips by one call for all trips, after the loop:
///  - Products that the loop accumulates in a sum become one product over all trips. The sums are
///    the states from `first_sum` on; they start as zeros, and only their additions read them.
///  - Stacked results of costly nodes that also read a captured tensor, such as weights.
/// `results`: the final states and stacks of the loop; those that have moved are replaced by the
/// values computed after the loop. `behind` inserts nodes after the loop.
void batch_behind_loop(ir::Builder& behind, ir::NodeId loop, std::size_t first_sum,
                       std::vector<ir::ValueId>& results);

}  // namespace rondel::gradients
