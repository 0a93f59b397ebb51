#pragma once
#include "base/cache_key.h"
#include "ir/graph.h"

#include <span>

namespace rondel::session {

/// What a graph with these results computes, so that graphs with equal keys may share a plan: ops,
/// attributes, constants and types, but no names. The sources of nodes count only in regions of
/// nodes, where errors name them.
CacheKey graph_key(const ir::Graph&, std::span<const ir::ValueId> results);

}  // namespace rondel::session
