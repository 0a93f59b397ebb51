#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// What is read only as the one element that it must have is computed from the one element of each
/// operand: `one_element` moves in front of what only reshapes, and of element-wise ops, as
/// exporters write `i < n and squeeze(token) != end` with a token of unknown extents. A rank that
/// depends on data keeps the loop around it from being compiled as a whole. The same values fail:
/// those that have not one element.
bool narrow_elements(ir::Graph&);

}  // namespace rondel::passes
