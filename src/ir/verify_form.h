#pragma once
#include "ir/graph.h"

namespace rondel::ir {

/// What `verify` asks of a graph apart from types: after it, types can be inferred.
void verify_form(const Graph&);

}  // namespace rondel::ir
