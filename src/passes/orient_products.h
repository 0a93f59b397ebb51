#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// Matrix products read their operands as they stand in memory: a transposition of the last two
/// axes becomes the product's own, and a constant matrix that a product reads transposed is stored
/// so, where nothing else reads it.
bool orient_products(ir::Graph&);

}  // namespace rondel::passes
