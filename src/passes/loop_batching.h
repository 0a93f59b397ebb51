#pragma once
#include "ir/builder.h"

#include <vector>

namespace rondel::passes {

/// Moves work of single trips behind the loop, as one call for all trips:
///  - Products that a sum of the loop adds, where one product adds them up, too. A sum is a state
///    from `first_sum` on; it begins with zeros, and only adding reads it.
///  - Stacked results of costly nodes that also read a captured tensor, such as weights.
/// `results`: the loop's finals and stacks. Each gets the value that stands for it behind the loop.
void batch_behind_loop(ir::Builder& behind, ir::NodeId loop, std::size_t first_sum,
                       std::vector<ir::ValueId>& results);

}  // namespace rondel::passes
