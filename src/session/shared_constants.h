#pragma once
#include "ir/graph.h"

namespace rondel::session {

/// Replaces large constants by equal ones of other graphs of this process that are still in use, so
/// that sessions of the same model, or of models with the same weights, hold them once. The
/// elements of constants are never written. Thread-safe.
void share_constants(ir::Graph&);

}  // namespace rondel::session
