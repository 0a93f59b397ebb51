#pragma once
#include "base/cancellation.h"
#include "ir/graph.h"

#include <vector>

namespace rondel::passes {

/// Calls `rewrite(n)`, which says whether it changed something, for each node there is at first in
/// each region. Whether any call did.
template <class Rewrite> bool rewrite_nodes(ir::Graph& g, const Rewrite& rewrite) {
  bool changed = false;
  for (const ir::RegionId r : g.regions_below(ir::RegionId::root))
    for (const ir::NodeId n : std::vector<ir::NodeId>(g.region(r).nodes)) {
      check_cancellation();
      changed = rewrite(n) || changed;
    }
  return changed;
}

}  // namespace rondel::passes
