#pragma once
#include "ir/graph.h"

namespace rondel::passes {

/// All readers of `from` read `to`, an equal value. If that makes `to` a result of its region, in
/// which it is made, it takes over the result's name.
void replace_value(ir::Graph&, ir::ValueId from, ir::ValueId to);
/// These readers of another value read `to`.
void replace_uses(ir::Graph&, std::span<const ir::Use>, ir::ValueId to);

}  // namespace rondel::passes
