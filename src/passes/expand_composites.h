#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// Replaces every node of a composite op by the nodes that the composite consists of, until no
/// composite is left but those that need a rank or an extent which is not known, and those of a
/// body whose rule does not hold. Types must have been inferred.
bool expand_composites(ir::Graph&);

}  // namespace rondel::passes
