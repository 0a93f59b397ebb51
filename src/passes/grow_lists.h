#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// A list that a loop only appends to, in all trips or under an `if`, and that is only joined after
/// the loop, becomes a tensor that grows by `concat`. Its items need not be of one length. A list
/// that is joined must not be empty: an assertion says so if it may be.
bool grow_lists(ir::Graph&);

}  // namespace rondel::passes
