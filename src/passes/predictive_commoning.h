#pragma once
#include "passes/remarks.h"

namespace rondel::passes {

/// Predictive commoning: a value that the previous trip has computed already becomes a state. For
/// example, the residual of an iterative solver that gives the next step and is also tested by the
/// loop's condition is computed once per trip. Applies if the body computes the value both from its
/// states and from their next values, and the graph computes it before the loop from the initial
/// states. Only values that depend on a costly node (a product, a convolution, a kernel) become
/// states. Types must have been inferred. Values that are unread afterwards are left for
/// `remove_dead`.
bool predictive_commoning(ir::Graph&, Remarks* = nullptr);

}  // namespace rondel::passes
