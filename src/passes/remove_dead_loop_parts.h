#pragma once
#include "passes/remarks.h"

namespace rondel::passes {

/// Removes stacks that nothing reads, and dead carried states of loops: states whose final values
/// are unread and that the body only uses to compute next values of dead states. The nodes that
/// compute them are removed, too, even if they can fail, as in `remove_dead`.
bool remove_dead_loop_parts(ir::Graph&, Remarks* = nullptr);

}  // namespace rondel::passes
