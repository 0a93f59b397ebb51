#include "passes/fold_constants.h"

#include "ir/builder.h"

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

/// Replaces a node's outputs that are known and read by constants.
bool fold_node(Graph& g, NodeId n, const ir::TypeEnvironment& k) {
  if (!g.node(n).outputs.empty() && g.constant(g.node(n).outputs[0]) != nullptr) return false;
  bool changed = false;
  for (std::size_t j = 0; j < g.node(n).outputs.size(); ++j) {
    const ValueId v = g.node(n).outputs[j];
    const Tensor* known = v == ValueId::none ? nullptr : k.value(v);
    if (known == nullptr || !g.is_read(v)) continue;
    ir::Builder b(g, g.node(n).region);
    b.source(g.node(n).source);
    b.insert_before(n);
    const ValueId constant = b.constant(*known);
    g.value(constant).name = g.value(v).name;
    g.replace_uses(v, constant);
    changed = true;
  }
  return changed;
}

/// Replaces an `if` with a known condition by the nodes of the branch taken.
bool take_branch(Graph& g, NodeId n, const ir::TypeEnvironment& k) {
  const ir::Node& node = g.node(n);
  if (node.is_loop()) return false;
  const std::optional<RegionId> taken = ir::taken_branch(node, k);
  if (!taken) return false;
  replace_by_branch(g, n, *taken);
  return true;
}

bool fold_region(Graph& g, RegionId r, const ir::TypeEnvironment& k) {
  bool changed = false;
  const std::vector<NodeId> nodes = g.region(r).nodes;
  for (const NodeId n : nodes) {
    changed |= fold_node(g, n, k);
    for (const RegionId inner : std::vector<RegionId>(g.node(n).regions))
      changed |= fold_region(g, inner, k);
    if (!g.node(n).regions.empty()) changed |= take_branch(g, n, k);
  }
  return changed;
}

/// Infers all types again; true if one changed.
bool infer(Graph& g, ir::TypeEnvironment& k, const ir::Evaluator& evaluate) {
  k.name_unknowns = true;
  ir::infer_region(g, RegionId::root, k, evaluate);
  bool changed = false;
  for (std::size_t v = 0; v < g.value_count(); ++v) {
    ir::Type& type = g.value(static_cast<ValueId>(v)).type;
    changed = changed || !(type == k.types[v]);
    type = k.types[v];
  }
  return changed;
}

}  // namespace

bool fold_constants(Graph& g, const ir::Evaluator& evaluate) {
  ir::TypeEnvironment k = ir::type_environment(g);
  const bool changed = infer(g, k, evaluate);
  return fold_region(g, RegionId::root, k) || changed;
}

bool renew_types(Graph& g) {
  ir::TypeEnvironment k = ir::type_environment(g);
  return infer(g, k, nullptr);
}

void replace_by_branch(Graph& g, NodeId n, RegionId taken) {
  g.move_nodes(taken, n);
  const std::vector<ValueId> outputs = g.node(n).outputs;
  for (std::size_t j = 0; j < outputs.size(); ++j)
    if (outputs[j] != ValueId::none) g.replace_uses(outputs[j], g.region(taken).results[j]);
  g.erase_node(n);
}

}  // namespace rondel::passes
