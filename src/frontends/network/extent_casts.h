#pragma once
#include "ir/graph.h"

namespace rondel::network {

/// Replaces each cast from int64 to int32 whose operand certainly holds extents by a checked cast,
/// which fails at run time if int32 does not hold the value. The result of a checked cast is still
/// known to be an extent, as TensorRT's users need: they cast shapes to int32. Other casts wrap.
void check_extent_casts(ir::Graph&);

}  // namespace rondel::network
