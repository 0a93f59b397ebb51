#include "passes/expand_composites.h"

#include "base/error.h"
#include "ir/builder.h"
#include "ir/infer.h"
#include "ops/meaning.h"

#include <algorithm>

namespace rondel::passes {

bool expand_composites(ir::Graph& g) {
  bool changed = false;
  // Regions made while expanding come last in the arena and are reached by this loop too.
  for (std::size_t r = 0; r < g.region_count(); ++r) {
    const auto region = static_cast<ir::RegionId>(r);
    for (std::size_t at = 0; at < g.region(region).nodes.size();) {
      const ir::NodeId n = g.region(region).nodes[at];
      const auto* composite = ops::meaning_as<ops::Composite>(*g.node(n).op);
      if (composite == nullptr) {
        ++at;
        continue;
      }
      const ir::Node node = g.node(n);
      ir::Builder builder(g, region);
      builder.source(node.source);
      builder.insert_at(at);
      const std::vector<ir::ValueId> results = composite->fn(builder, node);
      invariant(results.size() >= node.outputs.size(), "{}: its composite gives {} of {} outputs",
                ir::where(g, n), results.size(), node.outputs.size());
      for (std::size_t j = 0; j < node.outputs.size(); ++j) {
        if (node.outputs[j] == ir::ValueId::none) continue;
        if (g.value(results[j]).name.empty())
          g.value(results[j]).name = g.value(node.outputs[j]).name;
        g.replace_uses(node.outputs[j], results[j]);
      }
      g.erase_node(n);
      changed = true;
    }
  }
  return changed;
}

}  // namespace rondel::passes
