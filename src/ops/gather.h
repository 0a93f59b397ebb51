#pragma once
#include "ir/graph.h"

#include <optional>

namespace rondel::ops {

/// The axis of a gather whose index is a scalar, so that it takes one slice; nothing for any other
/// node.
std::optional<std::int64_t> picked_axis(const ir::Graph&, const ir::Node&);

}  // namespace rondel::ops
