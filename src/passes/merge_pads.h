#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// A `pad` of a `pad` with the same constant becomes one `pad`. Exporters slice one axis after the
/// other; the gradients of such slices are pads of pads, each a copy.
bool merge_pads(ir::Graph&);

}  // namespace rondel::passes
