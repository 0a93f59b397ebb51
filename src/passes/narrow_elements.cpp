#include "passes/narrow_elements.h"

#include "ir/builder.h"
#include "ops/layout/one_element.h"
#include "ops/meaning.h"
#include "passes/linear_forms.h"

#include <algorithm>
#include <array>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// Whether the node has the elements of its input, and cannot fail on one element.
bool only_reshapes(const Node& n) {
  constexpr std::array<std::string_view, 4> reshapes{"squeeze", "unsqueeze", "flatten", "identity"};
  return std::ranges::count(reshapes, n.op->name) > 0;
}

bool may_be_one_element(const Graph& g, ValueId v) {
  return v != ValueId::none && g.value(v).type.may_be_one_element();
}

/// The node that makes what `n` reads, if only `n` reads it and it can be computed of one element;
/// else none.
NodeId narrowed_maker(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  if (!ops::requires_one_element(node) || is_one_element(g, node.inputs[0])) return NodeId::none;
  const ir::ValueInfo& v = g.value(node.inputs[0]);
  if (v.producer == NodeId::none || v.region != node.region || v.uses.size() != 1)
    return NodeId::none;
  const Node& maker = g.node(v.producer);
  if (only_reshapes(maker))
    return may_be_one_element(g, maker.inputs[0]) ? v.producer : NodeId::none;
  const bool suits = ops::is_elementwise(*maker.op) && maker.outputs.size() == 1 &&
                     std::ranges::all_of(maker.inputs,
                                         [&](ValueId x) { return may_be_one_element(g, x); });
  return suits ? v.producer : NodeId::none;
}

void narrow(Graph& g, NodeId n, NodeId maker_id) {
  const ir::Attributes what = g.node(n).attributes;
  const Node& maker = g.node(maker_id);
  if (only_reshapes(maker)) {
    g.set_input(n, 0, maker.inputs[0]);
  } else {
    ir::Builder b(g, maker.region);
    b.insert_before(n);
    std::vector<ValueId> operands;
    for (const ValueId v : std::vector<ValueId>(maker.inputs)) {
      b.source(g.node(n).source);
      operands.push_back(g.value(v).type == ir::Type::scalar(g.value(v).type.dtype())
                             ? v
                             : b("one_element", {v}, what));
    }
    b.source(maker.source);
    const ValueId y = b(maker.op->name, operands, maker.attributes);
    g.value(y).name = g.value(maker.outputs[0]).name;
    g.replace_uses(g.node(n).outputs[0], y);
    g.erase_node(n);
  }
  g.erase_node(maker_id);
}

bool narrow_region(Graph& g, ir::RegionId r) {
  bool changed = false;
  const std::vector<NodeId> nodes(g.region(r).nodes.begin(), g.region(r).nodes.end());
  for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) {
    if (g.is_erased(*n)) continue;
    const NodeId maker = narrowed_maker(g, *n);
    if (maker == NodeId::none) continue;
    narrow(g, *n, maker);
    changed = true;
  }
  return changed;
}

}  // namespace

bool narrow_elements(Graph& g) {
  bool changed = false;
  for (const ir::RegionId r : g.regions_below(ir::RegionId::root))
    while (narrow_region(g, r)) changed = true;
  return changed;
}

}  // namespace rondel::passes
