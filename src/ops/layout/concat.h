#pragma once
#include "ir/graph.h"

#include <optional>

namespace rondel::ops {

/// The axis along which a concat joins its inputs; nothing for any other node.
std::optional<std::int64_t> joined_axis(const ir::Node&);

}  // namespace rondel::ops
