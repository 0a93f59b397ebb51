#pragma once
#include "ir/graph.h"

namespace rondel::ops {

/// Whether the node requires that its input has one element, and gives the element as a scalar.
bool requires_one_element(const ir::Node&);

}  // namespace rondel::ops
