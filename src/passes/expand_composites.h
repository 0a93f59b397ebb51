#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// Replaces every node whose op's meaning is a composite by that composite's graph, until there are
/// none. Types must have been inferred.
bool expand_composites(ir::Graph&);

}  // namespace rondel::passes
