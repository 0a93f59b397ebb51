#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// Lets matrix products read their operands, and write their results, as they are stored, without
/// transpositions:
///  - A transposition of the last two axes becomes an attribute of the product that reads it.
///  - A product whose result is only transposed gives the transposed result.
///  - A constant that only products read, and all of them transposed, is stored transposed.
///  - A loop-invariant operand that a product reads transposed is stored transposed before the
///    loop.
bool orient_products(ir::Graph&);

}  // namespace rondel::passes
