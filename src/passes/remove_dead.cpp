#include "passes/remove_dead.h"

#include <algorithm>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

std::vector<std::size_t> count_uses(const Graph& g, RegionId r, std::vector<std::size_t> uses) {
  for (const NodeId n : g.region(r).nodes) {
    for (const ValueId v : g.node(n).inputs)
      if (v != ValueId::none) ++uses[ir::index(v)];
    for (const RegionId inner : g.node(n).regions) uses = count_uses(g, inner, std::move(uses));
  }
  for (const ValueId v : g.region(r).results) ++uses[ir::index(v)];
  return uses;
}

bool sweep(Graph& g, RegionId r, const std::vector<std::size_t>& uses) {
  auto& nodes = g.region(r).nodes;
  const std::size_t before = nodes.size();
  std::erase_if(nodes, [&](NodeId n) {
    const auto& outputs = g.node(n).outputs;
    return !outputs.empty() && std::ranges::none_of(outputs, [&](ValueId v) {
      return v != ValueId::none && uses[ir::index(v)] > 0;
    });
  });
  bool changed = nodes.size() != before;
  for (const NodeId n : std::vector<NodeId>(g.region(r).nodes))
    for (const RegionId inner : g.node(n).regions) changed |= sweep(g, inner, uses);
  return changed;
}

/// A result keeps the name it has for the model's author when what it passes on becomes the result.
void keep_result_name(Graph& g, const ir::Node& identity) {
  const ValueId from = identity.inputs[0], to = identity.outputs[0];
  const bool made_here = g.value(from).producer != NodeId::none &&
                         g.value(from).region == identity.region;
  const auto& results = g.region(identity.region).results;
  if (made_here && std::ranges::count(results, to) > 0 && std::ranges::count(results, from) == 0)
    g.value(from).name = g.value(to).name;
}

}  // namespace

bool remove_dead(Graph& g) {
  bool changed = false;
  while (sweep(g, RegionId::root,
               count_uses(g, RegionId::root, std::vector<std::size_t>(g.value_count()))))
    changed = true;
  return changed;
}

bool forward_identities(Graph& g) {
  bool changed = false;
  for (std::size_t i = 0; i < g.node_count(); ++i) {
    const ir::Node& node = g.node(static_cast<NodeId>(i));
    if (node.op->name != "identity" || node.inputs.size() != 1) continue;
    const auto& list = g.region(node.region).nodes;
    if (std::find(list.begin(), list.end(), static_cast<NodeId>(i)) == list.end()) continue;
    keep_result_name(g, node);
    g.replace_uses(node.outputs[0], node.inputs[0]);
    g.erase_node(static_cast<NodeId>(i));
    changed = true;
  }
  return changed;
}

}  // namespace rondel::passes
