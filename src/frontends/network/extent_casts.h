#pragma once
#include "ir/graph.h"

namespace rondel::network {

/// Casts to int32 of what certainly are extents refuse, when they run, those from 2^31 on, which
/// int32 does not hold: so that what TensorRT's users cast after they read it from a shape is an
/// extent still. Other casts wrap.
void check_extent_casts(ir::Graph&);

}  // namespace rondel::network
