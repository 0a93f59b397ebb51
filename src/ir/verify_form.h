#pragma once
#include "ir/graph.h"

namespace rondel::ir {

/// Checks everything that `verify` checks except types. Types can be inferred for a graph that
/// passes.
void verify_form(const Graph&);

}  // namespace rondel::ir
