#pragma once
#include "base/cache_key.h"
#include "ir/graph.h"

#include <span>

namespace rondel::session {

/// A key of the computation of a graph with these results: graphs with equal keys may share a plan.
/// It covers ops, attributes, constants and types, but not names. The sources of nodes are part of
/// the key only for nodes in inner regions, because errors name these nodes.
CacheKey graph_key(const ir::Graph&, std::span<const ir::ValueId> results);

}  // namespace rondel::session
