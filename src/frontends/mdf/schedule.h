#pragma once
#include "frontends/mdf/model.h"

#include <vector>

namespace rondel::mdf {

/// For each node, the nodes that it depends on by edges. An edge into a port with a default value
/// is not a dependency, so a cycle can be closed through it.
std::vector<std::vector<std::size_t>> dependencies(const Graph&);

/// The topological levels of the nodes, which the scheduler considers in order. Within a set, nodes
/// are in the order of the file. Throws Error(caller) that names a cycle.
std::vector<std::vector<std::size_t>> consideration_sets(const Graph&);

}  // namespace rondel::mdf
