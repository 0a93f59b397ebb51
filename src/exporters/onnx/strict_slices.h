#pragma once
#include "ir/graph.h"

namespace rondel::exporters {

/// Lowers strict slices. If the types prove that a slice stays within its operand, it becomes a
/// Slice. Otherwise it becomes a Slice and a Reshape to the wanted extents, which fails if there
/// are fewer elements, or a Gather. A slice with unknown strides, or with sizes that may be
/// negative, stays and is decomposed later (decompositions.h).
void lower_strict_slices(ir::Graph&);

}  // namespace rondel::exporters
