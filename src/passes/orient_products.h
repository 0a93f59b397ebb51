#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// Matrix products read their operands as they stand in memory:
///  - A transposition of the last two axes becomes the product's own.
///  - A constant that products read transposed is stored so, where nothing else reads it.
///  - What a product in a loop reads transposed, and the loop does not change, is stored so before
///    the loop.
bool orient_products(ir::Graph&);

}  // namespace rondel::passes
