#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// Computes matrix products of columns and rows, which sum over an axis of one element, element by
/// element, so that what reads them needs no memory between: S + k * v'. The bits are those of the
/// product: 0 is added to each product, as to every sum of products. f16 and bf16 stay.
bool outer_products(ir::Graph&);

/// Whether the node is a matrix product of columns and rows.
bool is_outer_product(const ir::Graph&, const ir::Node&);

}  // namespace rondel::passes
