#include "passes/fuse_multiply_add.h"

#include "ir/builder.h"
#include "ir/infer.h"
#include "passes/rewrite_nodes.h"

#include <array>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// The product that computes `v`, if `v` has no other reader. An fma that adds 0 is none: it gives
/// 0 where the product is -0.
const Node* product(const Graph& g, ValueId v, ir::RegionId r) {
  if (g.value(v).producer == NodeId::none || g.value(v).uses.size() != 1) return nullptr;
  const Node& n = g.node(g.value(v).producer);
  return n.op->name == "mul" && n.region == r ? &n : nullptr;
}

bool rewrite(Graph& g, NodeId n) {
  const Node& node = g.node(n);
  const bool adds = node.op->name == "add", subtracts = node.op->name == "sub";
  if (!adds && !subtracts) return false;
  const ir::Type& t = g.value(node.outputs[0]).type;
  if (!t.is_tensor() || (t.dtype() != DType::f32 && t.dtype() != DType::f64)) return false;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const Node* found = product(g, node.inputs[side], node.region);
    if (found == nullptr) continue;
    if (!ir::rules_hold(g, std::array{g.value(node.inputs[side]).producer, n})) continue;
    ValueId a = found->inputs[0], c = node.inputs[1 - side];
    const ValueId b = found->inputs[1];
    ir::Builder builder(g, node.region);
    builder.source(node.source);
    builder.insert_before(n);
    if (subtracts && side == 0) c = builder("neg", {c});
    if (subtracts && side == 1) a = builder("neg", {a});
    const ValueId y = builder("fma", {a, b, c});
    g.value(y).name = g.value(node.outputs[0]).name;
    g.replace_uses(node.outputs[0], y);
    g.erase_node(n);
    return true;
  }
  return false;
}

}  // namespace

bool fuse_multiply_add(Graph& g) {
  return rewrite_nodes(g, [&](NodeId n) { return rewrite(g, n); });
}

}  // namespace rondel::passes
