#include "passes/merge_pads.h"

#include "base/axis.h"
#include "ir/builder.h"
#include "ir/infer.h"
#include "passes/lists.h"
#include "passes/replace_value.h"
#include "passes/rewrite_nodes.h"

#include <algorithm>
#include <cstring>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// The pads before all axes, then those after all axes; nothing if they are not known, or if the
/// node does not pad numbers with a constant.
std::optional<ir::Ints> pads_of(const Graph& g, NodeId n) {
  if (!is_op(g, n, "pad") || g.node(n).attributes.s("mode", "constant") != "constant" ||
      !ir::rule_holds(g, n))
    return {};
  const Node& node = g.node(n);
  const ir::Type& x = g.value(node.inputs[0]).type;
  const Tensor* pads = g.constant(node.inputs[1]);
  if (pads == nullptr || x.dtype() == DType::string || !x.has_rank()) return {};
  const ir::Ints listed = ir::integers_of(*pads);
  const bool has_axes = node.inputs.size() > 3 && node.inputs[3] != ValueId::none;
  const Tensor* axes = has_axes ? g.constant(node.inputs[3]) : nullptr;
  if (has_axes && axes == nullptr) return {};
  const std::size_t count = listed.size() / 2, rank = static_cast<std::size_t>(x.rank());
  ir::Ints all(2 * rank);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t axis = axes == nullptr ? k
                                             : static_cast<std::size_t>(axis_from_front(
                                                   ir::integers_of(*axes)[k], x.rank()));
    all[axis] = listed[k];
    all[rank + axis] = listed[count + k];
  }
  return all;
}

/// The bits of the constant that a node pads with; nothing if the run decides it.
std::optional<std::int64_t> padding_bits(const Graph& g, const Node& node) {
  std::int64_t bits = 0;
  if (node.inputs.size() < 3 || node.inputs[2] == ValueId::none) return bits;
  const Tensor* value = g.constant(node.inputs[2]);
  if (value == nullptr) return {};
  std::memcpy(&bits, value->data(), byte_size(value->dtype()));
  return bits;
}

}  // namespace

bool merge_pads(Graph& g) {
  return rewrite_nodes(g, [&](NodeId n) {
    const auto outer = pads_of(g, n);
    if (!outer) return false;
    const NodeId of = g.value(g.node(n).inputs[0]).producer;
    const auto inner = of == NodeId::none ? std::nullopt : pads_of(g, of);
    // What one removes, the other would not add again.
    if (!inner || !std::ranges::all_of(*inner, [](std::int64_t pad) { return pad >= 0; }))
      return false;
    const auto constant = padding_bits(g, g.node(n));
    if (!constant || constant != padding_bits(g, g.node(of))) return false;
    ir::Ints pads;
    for (std::size_t k = 0; k < inner->size(); ++k) {
      std::int64_t& both = pads.emplace_back();
      if (__builtin_add_overflow((*inner)[k], (*outer)[k], &both)) return false;
    }
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
