#pragma once
#include "ir/graph.h"

#include <optional>

namespace rondel::ops {

/// The axis of a gather that takes one slice (its index is a scalar); nothing for any other node.
std::optional<std::int64_t> picked_axis(const ir::Graph&, const ir::Node&);

}  // namespace rondel::ops
