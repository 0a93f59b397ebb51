#include "passes/contract_products.h"

#include "ir/builder.h"

#include <algorithm>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

class Contraction {
 public:
  explicit Contraction(Graph& g) : g_(g), uses_(g.value_count()) { count(ir::RegionId::root); }

  bool run(ir::RegionId r) {
    bool changed = false;
    for (const NodeId n : std::vector<NodeId>(g_.region(r).nodes)) {
      for (const ir::RegionId inner : std::vector<ir::RegionId>(g_.node(n).regions))
        changed |= run(inner);
      changed |= rewrite(n);
    }
    return changed;
  }

 private:
  void count(ir::RegionId r) {
    for (const NodeId n : g_.region(r).nodes) {
      for (const ValueId v : g_.node(n).inputs)
        if (v != ValueId::none) ++uses_[ir::index(v)];
      for (const ir::RegionId inner : g_.node(n).regions) count(inner);
    }
    for (const ValueId v : g_.region(r).results) ++uses_[ir::index(v)];
  }

  /// The product that `v` is, if nothing else reads it.
  const Node* product(ValueId v, ir::RegionId r) const {
    if (g_.value(v).producer == NodeId::none || uses_[ir::index(v)] != 1) return nullptr;
    const Node& n = g_.node(g_.value(v).producer);
    return n.op->name == "mul" && n.region == r ? &n : nullptr;
  }

  bool rewrite(NodeId n) {
    const Node node = g_.node(n);
    const bool adds = node.op->name == "add", subtracts = node.op->name == "sub";
    if (!adds && !subtracts) return false;
    const ir::Type& t = g_.value(node.outputs[0]).type;
    if (!t.is_tensor() || (t.dtype() != DType::f32 && t.dtype() != DType::f64)) return false;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const Node* found = product(node.inputs[side], node.region);
      if (found == nullptr) continue;
      ValueId a = found->inputs[0], c = node.inputs[1 - side];
      const ValueId b = found->inputs[1];
      const auto& list = g_.region(node.region).nodes;
      ir::Builder builder(g_, node.region);
      builder.source(node.source);
      builder.insert_at(
          static_cast<std::size_t>(std::find(list.begin(), list.end(), n) - list.begin()));
      if (subtracts && side == 0) c = builder("neg", {c});
      if (subtracts && side == 1) a = builder("neg", {a});
      const ValueId y = builder("fma", {a, b, c});
      g_.value(y).name = g_.value(node.outputs[0]).name;
      uses_.resize(g_.value_count(), 1);
      uses_[ir::index(y)] = uses_[ir::index(node.outputs[0])];
      g_.replace_uses(node.outputs[0], y);
      g_.erase_node(n);
      return true;
    }
    return false;
  }

  Graph& g_;
  std::vector<std::size_t> uses_;
};

}  // namespace

bool contract_products(Graph& g) { return Contraction(g).run(ir::RegionId::root); }

}  // namespace rondel::passes
