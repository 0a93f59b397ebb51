#pragma once
#include "frontends/mdf/model.h"

#include <vector>

namespace rondel::mdf {

/// The nodes that an edge makes each node wait for. One into a port with a default value makes
/// none, so that circles may be closed through it.
std::vector<std::vector<std::size_t>> dependencies(const Graph&);

/// The sets in which nodes are considered for running: each after those it waits for, in the order
/// of the file within a set. Throws Error(caller) naming a circle.
std::vector<std::vector<std::size_t>> consideration_sets(const Graph&);

}  // namespace rondel::mdf
