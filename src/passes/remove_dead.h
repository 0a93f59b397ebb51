#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// Dead code elimination: removes nodes, including loops, whose outputs are all unread, at every
/// depth. Nodes have no side effects. A node without outputs is a check (`assertion`) and stays as
/// long as its region does.
bool remove_dead(ir::Graph&);

/// Removes `identity` nodes: their readers read the input of the identity instead.
bool forward_identities(ir::Graph&);

/// The same for `stop_gradient` nodes, where nothing is differentiated any more.
bool remove_gradient_stops(ir::Graph&);

}  // namespace rondel::passes
