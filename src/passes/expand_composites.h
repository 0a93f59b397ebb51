#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// Replaces every node of a composite op by the nodes that the composite consists of, until no
/// composite is left. Types must have been inferred.
bool expand_composites(ir::Graph&);

}  // namespace rondel::passes
