#include "passes/narrow_branches.h"

#include "ir/builder.h"
#include "ops/layout/one_element.h"

#include <algorithm>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::RegionId;
using ir::Type;
using ir::ValueId;

bool is_scalar(const Type& t) { return t.is_tensor() && t.has_rank() && t.rank() == 0; }

/// Whether the input of `n` is an output of an `if` that nothing else reads, and that may be one
/// element in each branch.
bool reads_branches(const Graph& g, NodeId n) {
  const ir::Node& node = g.node(n);
  if (!ops::requires_one_element(node)) return false;
  const ir::ValueInfo& v = g.value(node.inputs[0]);
  if (v.producer == NodeId::none || v.uses.size() != 1) return false;
  const ir::Node& maker = g.node(v.producer);
  return !maker.is_loop() && !maker.regions.empty() && maker.region == node.region &&
         std::ranges::all_of(maker.regions, [&](RegionId branch) {
           const ValueId given = g.region(branch).results[static_cast<std::size_t>(v.position)];
           return g.value(given).type.may_be_one_element();
         });
}

void narrow(Graph& g, NodeId n) {
  const ValueId v = g.node(n).inputs[0];
  const auto j = static_cast<std::size_t>(g.value(v).position);
  for (const RegionId branch : std::vector<RegionId>(g.node(g.value(v).producer).regions)) {
    const ValueId given = g.region(branch).results[j];
    if (is_scalar(g.value(given).type)) continue;
    ir::Builder b(g, branch);
    b.source(g.node(n).source);
    g.set_result(branch, j, b("one_element", {given}, g.node(n).attributes));
  }
  g.value(v).type = g.value(g.node(n).outputs[0]).type;
  g.replace_uses(g.node(n).outputs[0], v);
  g.erase_node(n);
}

}  // namespace

bool narrow_branches(Graph& g) {
  bool changed = false;
  for (const RegionId r : g.regions_below(RegionId::root))
    for (const NodeId n : std::vector<NodeId>(g.region(r).nodes.begin(), g.region(r).nodes.end()))
      if (reads_branches(g, n)) {
        narrow(g, n);
        changed = true;
      }
  return changed;
}

}  // namespace rondel::passes
