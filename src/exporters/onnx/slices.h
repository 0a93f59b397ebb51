#pragma once
#include "ir/graph.h"

namespace rondel::exporters {

/// Writes strict slices as Slice, as far as the whole graph tells that they stay inside of what
/// they are taken from; else as Slice and a Reshape to the extents wanted, which is an error where
/// there were fewer, or as Gather. Leaves those whose strides or sizes tell nothing.
void write_strict_slices(ir::Graph&);

}  // namespace rondel::exporters
