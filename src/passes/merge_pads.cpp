#include "passes/merge_pads.h"

#include "ir/builder.h"
#include "ir/infer.h"
#include "ops/layout/pad.h"
#include "passes/lists.h"
#include "passes/replace_value.h"
#include "passes/rewrite_nodes.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <optional>
#include <vector>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// The pads of all axes, if they are known and the node pads numbers with a constant.
std::optional<ops::Padding<std::int64_t>> padding_of(const Graph& g, NodeId n) {
  if (!is_op(g, n, "pad") || g.node(n).attributes.s("mode", "constant") != "constant" ||
      !ir::rule_holds(g, n))
    return {};
  const Node& node = g.node(n);
  const ir::Type& x = g.value(node.inputs[0]).type;
  const Tensor *pads = g.constant(node.inputs[1]),
               *axes = has_input(node, 3) ? g.constant(node.inputs[3]) : nullptr;
  if (pads == nullptr || (axes == nullptr && has_input(node, 3)) || !x.has_rank() ||
      x.dtype() == DType::string)
    return {};
  const auto listed = axes != nullptr ? std::optional(ir::integers_of(*axes)) : std::nullopt;
  return ops::padding_of(ir::integers_of(*pads), listed, x.rank(), std::int64_t{0});
}

/// The bits of the number that a node pads with; nothing if the run decides it.
std::optional<std::vector<std::byte>> padding_bits(const Graph& g, const Node& node) {
  std::vector<std::byte> bits(byte_size(g.value(node.inputs[0]).type.dtype()));
  if (!has_input(node, 2)) return bits;
  const Tensor* value = g.constant(node.inputs[2]);
  if (value == nullptr) return {};
  std::memcpy(bits.data(), value->data(), bits.size());
  return bits;
}

}  // namespace

bool merge_pads(Graph& g) {
  return rewrite_nodes(g, [&](NodeId n) {
    const auto outer = padding_of(g, n);
    if (!outer) return false;
    const NodeId of = g.value(g.node(n).inputs[0]).producer;
    const auto inner = of == NodeId::none ? std::nullopt : padding_of(g, of);
    const auto number = padding_bits(g, g.node(n));
    if (!inner || !number || number != padding_bits(g, g.node(of))) return false;
    // What the inner one removes, the outer one would not add again.
    const auto adds = [](std::int64_t pad) { return pad >= 0; };
    if (!std::ranges::all_of(inner->before, adds) || !std::ranges::all_of(inner->after, adds))
      return false;
    ir::Ints pads;
    std::ranges::transform(inner->before, outer->before, std::back_inserter(pads), std::plus());
    std::ranges::transform(inner->after, outer->after, std::back_inserter(pads), std::plus());
    if (!std::ranges::all_of(pads, [](std::int64_t pad) { return pad <= ops::largest_pad; }))
      return false;
    const Node node = g.node(n);
    ir::Builder b(g, node.region);
    b.insert_before(n);
    b.source(node.source);
    std::vector<ValueId> operands{g.node(of).inputs[0], b.integers(pads)};
    if (node.inputs.size() > 2) operands.push_back(node.inputs[2]);
    replace_value(g, node.outputs[0], b("pad", std::move(operands)));
    g.erase_node(n);
    return true;
  });
}

}  // namespace rondel::passes
