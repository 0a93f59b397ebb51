#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// What a trip computes of its states though the trip before has computed the same, mostly to see
/// whether there is another trip, is handed over as a state: a residual that is the next step and
/// the test at once is computed once a trip. That is so where the body computes it both of its
/// states and of their next values, and it stands in front of the loop for the initial ones. Only
/// what has a product, a kernel or the like in it is worth a state.
/// Types must be there. What is then unread is left for `remove_dead`.
bool carry_repeated(ir::Graph&);

}  // namespace rondel::passes
