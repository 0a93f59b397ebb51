#include "passes/expand_composites.h"

#include "base/error.h"
#include "ir/builder.h"
#include "ir/infer.h"
#include "ops/meaning.h"
#include "passes/declared_items.h"

#include <algorithm>
#include <optional>

namespace rondel::passes {
namespace {

/// Whether the ranks are known that the expansion needs, and what else it needs.
bool enough_known(const ir::Graph& g, const ir::Node& node, const ops::Composite& composite) {
  if (composite.ready != nullptr && !composite.ready(g, node)) return false;
  if (!composite.axis.empty() && node.attributes.i(composite.axis) < 0) return true;
  return std::ranges::all_of(composite.ranked, [&](std::size_t k) {
    return k >= node.inputs.size() || node.inputs[k] == ir::ValueId::none ||
           g.value(node.inputs[k]).type.has_rank();
  });
}

}  // namespace

bool expand_composites(ir::Graph& g) {
  std::optional<DeclaredItems> items;  // of a graph that changes
  // Regions that the expansion creates are appended, so that this loop visits them, too.
  for (std::size_t r = 0; r < g.region_count(); ++r) {
    const auto region = static_cast<ir::RegionId>(r);
    // A stack, first node on top. A composite may expand to composites, which are pushed.
    std::vector<ir::NodeId> pending(g.region(region).nodes.rbegin(), g.region(region).nodes.rend());
    while (!pending.empty()) {
      const ir::NodeId n = pending.back();
      pending.pop_back();
      const ir::Node& node = g.node(n);
      const auto* composite = ops::meaning_as<ops::Composite>(*node.op);
      if (composite == nullptr || !enough_known(g, node, *composite) || !ir::rule_holds(g, n))
        continue;
      if (!items) items.emplace(g);
      const std::size_t before = g.node_count();
      ir::Builder builder(g, region);
      builder.source(node.source);
      builder.insert_before(n);
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
      for (std::size_t made = g.node_count(); made-- > before;)
        if (g.node(static_cast<ir::NodeId>(made)).region == region)
          pending.push_back(static_cast<ir::NodeId>(made));
    }
  }
  if (items) items->declare_forgotten(g);
  return items.has_value();
}

}  // namespace rondel::passes
