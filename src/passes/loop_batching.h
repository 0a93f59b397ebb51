#pragma once
#include "ir/builder.h"
#include "ir/infer.h"

#include <vector>

namespace rondel::passes {

/// What is known of the values of a loop's body from the ops' rules alone: a name that a model
/// gives to an extent in a body may stand for another number in each trip.
ir::TypeEnvironment types_in(const ir::Graph&, ir::NodeId loop);
/// Whether a value of the body has the same shape in each trip, as far as is known.
bool keeps_shape(const ir::TypeEnvironment&, ir::ValueId);
/// Whether computing it once for many trips saves much: a product, a convolution, a kernel.
bool is_costly(const ir::Node&);

/// Moves work of single trips behind the loop, as one call for all trips:
///  - Products that a sum of the loop adds, where one product adds them up, too. A sum is a state
///    from `first_sum` on; it begins with zeros, and only adding reads it.
///  - Stacked results of costly nodes that also read a captured tensor, such as weights.
/// `results`: the loop's finals and stacks. Each gets the value that stands for it behind the loop.
void batch_behind_loop(ir::Builder& behind, ir::NodeId loop, std::size_t first_sum,
                       std::vector<ir::ValueId>& results);

}  // namespace rondel::passes
