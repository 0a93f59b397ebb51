#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// Takes out nodes none of whose outputs is read (a loop without used results among them), at
/// every depth. Values have no side effects.
bool remove_dead(ir::Graph&);

/// Readers of a node that passes its input on (`identity`) read the input instead.
bool forward_identities(ir::Graph&);

}  // namespace rondel::passes
