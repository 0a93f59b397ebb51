#pragma once
#include "ir/graph.h"
#include "passes/group.h"

namespace rondel::passes {

/// The nodes of a group as a graph of their own, whose parameters are the group's inputs, whose
/// results are its outputs, and which holds the constants they read. A step keeps this instead of
/// the model.
ir::Graph extract(const ir::Graph&, const Group&);

/// Whether `v` is a constant that programs hold themselves: one element that fits in a register.
bool is_small_constant(const ir::Graph&, ir::ValueId v);

}  // namespace rondel::passes
