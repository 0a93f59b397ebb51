#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// a*b+c becomes fma(a, b, c), a*b-c fma(a, b, -c) and c-a*b fma(-a, b, c), for f32 and f64, where
/// the product has no other reader and stands in the same region. Decided here, once, so that every
/// executor gives the same bits.
bool contract_products(ir::Graph&);

}  // namespace rondel::passes
