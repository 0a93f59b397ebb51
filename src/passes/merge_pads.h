#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// A `pad` of a `pad` becomes one `pad`, if both add the same number, the pads are known, and the
/// inner one removes nothing. Exporters slice one axis after the other; the gradients of such
/// slices are pads of pads, each a copy.
bool merge_pads(ir::Graph&);

}  // namespace rondel::passes
