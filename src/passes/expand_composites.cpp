#include "passes/expand_composites.h"

#include "base/error.h"
#include "ir/builder.h"
#include "ir/infer.h"
#include "ir/loop_editor.h"
#include "ops/meaning.h"

#include <algorithm>

namespace rondel::passes {
namespace {

/// What a type says by numbers: its rank and its known extents.
ir::Type in_numbers(const ir::Type& t) {
  if (!t.is_tensor() || !t.has_rank()) return t;
  ir::Extents extents = t.extents();
  std::ranges::replace_if(
      extents, [](const ir::Extent& e) { return !e.known(); }, ir::Extent());
  return ir::Type::tensor(t.dtype(), std::move(extents));
}

/// Whether the ranks are known that the expansion needs.
bool ranks_known(const ir::Graph& g, const ir::Node& node, const ops::Composite& composite) {
  if (!composite.axis.empty() && node.attributes.i(composite.axis) < 0) return true;
  return std::ranges::all_of(composite.ranked, [&](std::size_t k) {
    return k >= node.inputs.size() || node.inputs[k] == ir::ValueId::none ||
           g.value(node.inputs[k]).type.has_rank();
  });
}

struct Item {
  ir::NodeId loop;
  std::size_t stack;
  ir::Type type;
};

/// The items, of all loops, whose rank is known.
std::vector<Item> items_of(const ir::Graph& g) {
  std::vector<Item> items;
  for (std::size_t i = 0; i < g.node_count(); ++i) {
    const auto n = static_cast<ir::NodeId>(i);
    if (g.node(n).region == ir::RegionId::none || !g.node(n).is_loop()) continue;
    const ir::LoopParts parts(g.node(n));
    for (std::size_t k = 0; k < parts.stacks; ++k) {
      const ir::ValueId item = g.region(parts.body).results[1 + parts.states + k];
      const ir::Type t = in_numbers(g.value(item).type);
      if (t.is_tensor() && t.has_rank()) items.push_back({n, k, t});
    }
  }
  return items;
}

/// Declares the ranks and extents of items as they were inferred: the rank of a stack without trips
/// follows from the model as it was written (docs/loops.md, rule 3).
void declare(ir::Graph& g, const std::vector<Item>& items) {
  for (const Item& item : items) {
    ir::LoopEditor editor(g, item.loop);
    editor.set_declared(item.stack, ir::completed(item.type, editor.parts().declared[item.stack]));
  }
}

}  // namespace

bool expand_composites(ir::Graph& g) {
  const std::vector<Item> items = items_of(g);
  bool changed = false, forgets = false;  // whether types are less known than before
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
      if (composite == nullptr || !ranks_known(g, node, *composite) || !ir::rule_holds(g, n))
        continue;
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
        const ir::Type known = in_numbers(g.value(results[j]).type);
        forgets |= ir::completed(known, in_numbers(g.value(node.outputs[j]).type)) != known;
        g.replace_uses(node.outputs[j], results[j]);
      }
      g.erase_node(n);
      for (std::size_t made = g.node_count(); made-- > before;)
        if (g.node(static_cast<ir::NodeId>(made)).region == region)
          pending.push_back(static_cast<ir::NodeId>(made));
      changed = true;
    }
  }
  if (forgets) declare(g, items);
  return changed;
}

}  // namespace rondel::passes
