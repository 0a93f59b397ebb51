#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// A `top_k` of one element, the greatest, becomes an `arg_max` and the element that it finds: a
/// reduction, which shares loops with other nodes, instead of a kernel. The least element stays: of
/// NaNs, which `top_k` takes for greater than all numbers, `arg_min` would find one.
bool top_one(ir::Graph&);

}  // namespace rondel::passes
