#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// A `tile` that repeats only axes of one element becomes an `expand`, which is a view: nothing is
/// copied, and what reads the result repeats the elements as it broadcasts.
bool expand_tiles(ir::Graph&);

}  // namespace rondel::passes
