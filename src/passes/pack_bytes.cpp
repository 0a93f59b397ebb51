#include "passes/pack_bytes.h"

#include "ir/builder.h"
#include "passes/loop_body.h"
#include "passes/rewrite_nodes.h"

#include <algorithm>
#include <string_view>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// Input 1 of both is packed; inputs 2 and 3 are zero points.
constexpr std::string_view product = "mat_mul_integer", convolution = "conv_integer";

/// Whether the rule, which holds now, says the same of the zero point whatever x and w are.
bool certainly_fits(const Graph& g, const Node& n, std::size_t k) {
  if (k >= n.inputs.size() || n.inputs[k] == ValueId::none) return true;
  const ir::Type& zero = g.value(n.inputs[k]).type;
  const auto is_one = [](const ir::Extent& e) { return e == ir::Extent(1); };
  if (!zero.is_tensor() || !zero.is_static()) return false;
  return k == 3 || std::ranges::all_of(zero.extents(), is_one);  // operand 1 is static, too
}

bool is_suitable(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (n.op->name != product && n.op->name != convolution) return false;
  const ir::Type &x = g.value(n.inputs[0]).type, &w = g.value(n.inputs[1]).type;
  return x.is_tensor() && x.has_rank() && x.rank() >= 2 && w.is_tensor() && w.has_rank() &&
         w.rank() >= 2 && w.is_static() && certainly_fits(g, n, 2) && certainly_fits(g, n, 3) &&
         ir::rule_holds(g, id);
}

/// The operand, packed by a new node or as a new constant; none if it is neither constant nor
/// invariant in a loop.
ValueId packed_operand(Graph& g, NodeId n, const ir::Evaluator& evaluate) {
  const ValueId v = g.node(n).inputs[1];
  const Tensor* constant = g.constant(v);
  const NodeId loop = outermost_loop_that_keeps(g, n, v);
  if (constant != nullptr ? evaluate == nullptr : loop == NodeId::none) return ValueId::none;
  const NodeId place = constant != nullptr ? g.value(v).producer : loop;
  ir::Builder b(g, g.node(place).region);
  b.source(g.node(n).source);
  b.insert_before(place);
  const ValueId packed = b(g.node(n).op->name == product ? "pack_panels" : "pack_weights", {v});
  if (constant == nullptr) return packed;
  const Tensor* given[] = {constant};
  const NodeId packing = g.value(packed).producer;
  const ValueId stored = b.constant(evaluate(g, packing, given).front().tensor());
  g.replace_uses(packed, stored);
  g.erase_node(packing);
  return stored;
}

void read_packed(Graph& g, NodeId id, ValueId packed) {
  const Node n = g.node(id);
  const ir::Type& w = g.value(n.inputs[1]).type;
  ir::Attributes attributes = n.attributes;
  attributes.set("signed", w.dtype() == DType::i8 ? 1 : 0);
  if (n.op->name == product) {
    attributes.set("depth", w.extent(w.rank() - 2).value);
    attributes.set("columns", w.extent(w.rank() - 1).value);
  } else {
    attributes.set("channels", w.extent(1).value);
  }
  std::vector<ValueId> inputs = n.inputs;
  inputs[1] = packed;
  ir::Builder b(g, n.region);
  b.source(n.source);
  b.insert_before(id);
  const ValueId y = b(n.op->name == product ? "mat_mul_panels" : "conv_packed", inputs, attributes);
  g.value(y).name = g.value(n.outputs[0]).name;
  g.replace_uses(n.outputs[0], y);
  g.erase_node(id);
}

}  // namespace

bool pack_bytes(Graph& g, const ir::Evaluator& evaluate) {
  return rewrite_nodes(g, [&](NodeId n) {
    if (!is_suitable(g, n)) return false;
    const ValueId packed = packed_operand(g, n, evaluate);
    if (packed == ValueId::none) return false;
    read_packed(g, n, packed);
    return true;
  });
}

}  // namespace rondel::passes
