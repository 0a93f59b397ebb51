#pragma once
#include "passes/remarks.h"

namespace rondel::passes {

/// An optional that loops or `if`s carry, or that a loop makes or reads, becomes a bool and a
/// value: whether it holds something, and what it holds, or else zeros or an empty list. All
/// optionals that may be one another in a run change together (passes/webs.h); they must hold
/// tensors of one dtype and rank, or lists. An optional that is an output of the graph is made of
/// the two at the end.
bool pair_optionals(ir::Graph&, Remarks* = nullptr);

}  // namespace rondel::passes
