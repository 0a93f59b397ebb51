#pragma once
#include "ir/graph.h"

#include <vector>

namespace rondel::lowering {

/// The nodes of a region, in an order in which they can run. In the body of a loop, what only makes
/// the next value of a state comes after what reads the state, where it can: then the next value
/// may be written over the state, and others may read the state where they need it. Nodes that may
/// fail keep their order.
std::vector<ir::NodeId> states_last(const ir::Graph&, ir::RegionId);

}  // namespace rondel::lowering
