#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// Leaves out states of loops that only make their own next values: nobody reads the final value,
/// and in the body only such states do. What computes them goes with them. What can fail may be
/// left out, as in `remove_dead`.
bool remove_dead_states(ir::Graph&);

}  // namespace rondel::passes
