#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// Takes out nodes none of whose outputs is read (a loop without used results among them), at
/// every depth. Values have no side effects. A node that has no outputs is there for what it
/// checks (`assertion`) and stays, as long as the region it stands in does.
bool remove_dead(ir::Graph&);

/// Readers of a node that passes its input on (`identity`) read the input instead.
bool forward_identities(ir::Graph&);

}  // namespace rondel::passes
