#pragma once
#include "passes/remarks.h"

namespace rondel::passes {

/// Common subexpression elimination: what was computed before of the same operands, by the same op
/// with the same attributes, in the same region or in one around it, is not computed again. From a
/// region around only values are read that are worth a read of memory in each trip: floats, and of
/// element-wise ops only scalars, because an element-wise op fuses with its readers. Integers stay,
/// because the types of a loop's body are inferred from the nodes that compute them. Types must
/// have been inferred.
bool common_subexpressions(ir::Graph&, Remarks* = nullptr);

}  // namespace rondel::passes
