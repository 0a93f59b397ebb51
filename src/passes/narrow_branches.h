#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// An output of an `if` that is read only as the one element that it must have is that element:
/// each branch gives it as a scalar. The branches may have given it in unlike ranks, as exporters
/// write `a and b`, which keeps the loop around them from being compiled as a whole.
bool narrow_branches(ir::Graph&);

}  // namespace rondel::passes
