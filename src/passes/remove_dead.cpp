#include "passes/remove_dead.h"

#include "passes/replace_value.h"

#include <algorithm>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

bool is_dead(const Graph& g, const ir::Node& n) {
  return !n.outputs.empty() &&
         std::ranges::none_of(n.outputs, [&](ValueId v) { return g.is_read(v); });
}

/// All values that the node or its regions read.
std::vector<ValueId> reads(const Graph& g, const ir::Node& n) {
  std::vector<ValueId> all = n.inputs;
  for (const RegionId r : n.regions) {
    const std::vector<ValueId> captured = g.captures(r);
    all.insert(all.end(), captured.begin(), captured.end());
  }
  return all;
}

/// Removes nodes that give their input: their readers read the input instead.
bool forward(Graph& g, const auto& gives_its_input) {
  bool changed = false;
  for (const RegionId r : g.regions_below(RegionId::root))
    for (const NodeId n : std::vector<NodeId>(g.region(r).nodes)) {
      const ir::Node& node = g.node(n);
      if (!gives_its_input(node) || node.outputs[0] == ValueId::none) continue;
      replace_value(g, node.outputs[0], node.inputs[0]);
      g.erase_node(n);
      changed = true;
    }
  return changed;
}

}  // namespace

bool remove_dead(Graph& g) {
  std::vector<NodeId> pending;
  for (const RegionId r : g.regions_below(RegionId::root))
    pending.insert(pending.end(), g.region(r).nodes.begin(), g.region(r).nodes.end());
  bool changed = false;
  while (!pending.empty()) {
    const NodeId n = pending.back();
    pending.pop_back();
    if (g.is_erased(n) || !is_dead(g, g.node(n))) continue;
    for (const ValueId v : reads(g, g.node(n)))
      if (v != ValueId::none && g.value(v).producer != NodeId::none)
        pending.push_back(g.value(v).producer);
    g.erase_node(n);
    changed = true;
  }
  return changed;
}

bool forward_identities(Graph& g) {
  return forward(g, [&](const ir::Node& n) {
    // What is no optional is passed on.
    return n.op->name == "identity" ||
           (n.op->name == "optional_get_element" && !g.value(n.inputs[0]).type.is_optional());
  });
}

bool remove_gradient_stops(Graph& g) {
  return forward(g, [](const ir::Node& n) { return n.op->name == "stop_gradient"; });
}

}  // namespace rondel::passes
