#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// Predictive commoning: a value that the trip before has computed already becomes a state. For
/// example a residual that is the next step, and is also tested for another trip, is computed once
/// a trip. Applies where the body computes the value both from its states and from their next
/// values, and where the value is computed in front of the loop from the initial states. Only
/// values that depend on a product, a kernel or the like are worth a state. Types must have been
/// inferred. Values that are unread afterwards are left for `remove_dead`.
bool predictive_commoning(ir::Graph&);

}  // namespace rondel::passes
