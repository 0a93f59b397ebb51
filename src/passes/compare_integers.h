#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// A comparison (<, <=, >, >=) of integers that were converted to floats with a number compares the
/// integers themselves, so that a loop that counts in this way is known to count. The number must
/// be so small that all integers up to it are exact in the floats' format: larger ones, which are
/// rounded, are then on the same side of it as before.
bool compare_integers(ir::Graph&);

}  // namespace rondel::passes
