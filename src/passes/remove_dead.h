#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// Removes nodes whose outputs are all unread, also loops without used results, at every depth.
/// Values have no side effects. A node without outputs exists for its check (`assertion`) and stays
/// as long as its region does.
bool remove_dead(ir::Graph&);

/// Readers of a node that passes its input on (`identity`) read the input instead.
bool forward_identities(ir::Graph&);

}  // namespace rondel::passes
