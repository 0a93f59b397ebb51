#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// Fuses a*b+c to fma(a, b, c), a*b-c to fma(a, b, -c) and c-a*b to fma(-a, b, c), for f32 and f64,
/// if the product has no other reader and is in the same region. fma(a, b, 0) is such a product:
/// `outer_products` writes them. Multiply-adds are fused here, in the graph, and nowhere else, so
/// that every executor gives the same bits.
bool fuse_multiply_add(ir::Graph&);

}  // namespace rondel::passes
