#pragma once
#include "ir/graph.h"
#include "lowering/group.h"

namespace rondel::lowering {

/// The nodes of a group as a graph of their own. Its parameters are the group's inputs, its results
/// the group's outputs; constants that the nodes read are copied. A step keeps this graph instead
/// of the whole model.
ir::Graph extract(const ir::Graph&, const Group&);

/// Whether `v` is a constant that is embedded in programs: one element that fits in a register.
bool is_small_constant(const ir::Graph&, ir::ValueId v);

}  // namespace rondel::lowering
