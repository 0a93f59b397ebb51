#pragma once
#include "ir/graph.h"

#include <optional>

namespace rondel::ops {

/// The axis of its first input along which the node takes the slice that its second input, a
/// scalar, names; nothing where it does something else.
std::optional<std::int64_t> picked_axis(const ir::Graph&, const ir::Node&);

}  // namespace rondel::ops
