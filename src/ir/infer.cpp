#include "ir/infer.h"

#include "base/cancellation.h"
#include "ir/inference.h"

#include <algorithm>

namespace rondel::ir {
namespace {

/// Limits on the number of rules applied by one inference: per node of the graph, plus a constant.
/// In deeply nested loops whose states widen, the passes over the innermost body multiply; without
/// a limit, inference of a small file could take years.
constexpr std::size_t most_rules_per_node = 200, most_rules = 1'000'000;

}  // namespace

void Inference::region(RegionId r) {
  for (const NodeId n : g_.region(r).nodes) node(n);
}

void Inference::node(NodeId n) {
  const std::size_t around = by_trip_.size();
  try {
    infer(n);
  } catch (const Error& e) {
    const bool stays = k_.keeps_broken_nodes && g_.node(n).region != RegionId::root &&
                       e.blame() == Blame::caller;
    if (!(k_.without_trips || stays) || e.blame() == Blame::internal || ends_run(e)) throw;
    by_trip_.resize(around);
    k_.conditions.reset();
    for (const ValueId v : g_.node(n).outputs) {
      forget(v);
      if (v != ValueId::none) type(v) = g_.value(v).type;
    }
    for (const RegionId r : g_.node(n).regions) keep_types_inside(r);
  }
}

void Inference::keep_types_inside(RegionId r) {
  each_value_inside(r, [&](ValueId v) { type(v) = g_.value(v).type; });
}

void Inference::complete_types_inside(RegionId r) {
  each_value_inside(r, [&](ValueId v) {
    if (k_.types.find(index(v)) == nullptr) type(v) = g_.value(v).type;
  });
}

void Inference::infer(NodeId n) {
  check_cancellation();
  if (++rules_ > most_rules + most_rules_per_node * g_.node_count())
    throw_error_at(Blame::limit, where(g_, n),
                   "loops nested this deep, whose states change type, take too long to infer");
  const Node& node = g_.node(n);
  for (const ValueId v : node.outputs) forget(v);
  if (node.is_loop()) return loop(n);
  if (node.op->name == "if") return branch(n);
  rule(n);
}

bool Inference::from_regions(NodeId n) {
  if (!g_.node(n).is_loop()) {
    need_condition(n);
    join_branches(n);
    return true;
  }
  check_loop(n);
  const LoopParts& parts = g_.node(n).loop();
  const Region& body = g_.region(parts.body);
  for (std::size_t s = 0; s < parts.states; ++s) {
    const Type& state = type(body.params[2 + s]);
    const std::optional<Type> both = join(state, type(body.results[1 + s]));
    if (!both || !(*both == state)) return false;
  }
  finish_loop(n, {});
  return true;
}

void infer_region(const Graph& g, RegionId r, TypeEnvironment& k, const Evaluator& evaluate) {
  Inference(g, k, evaluate).region(r);
}

void infer_node(const Graph& g, NodeId n, TypeEnvironment& k, const Evaluator& evaluate) {
  Inference inference(g, k, evaluate);
  inference.name_stacks();
  inference.infer(n);
}

void infer_kept_node(const Graph& g, NodeId n, TypeEnvironment& k) {
  Inference inference(g, k, nullptr);
  inference.name_stacks();
  inference.node(n);
}

bool infer_from_regions(const Graph& g, NodeId n, TypeEnvironment& k) {
  return Inference(g, k, nullptr).from_regions(n);
}

void infer_types(Graph& g, const Evaluator& evaluate) {
  TypeEnvironment k = type_environment(g);
  infer_region(g, RegionId::root, k, evaluate);
  for (std::size_t v = 0; v < g.value_count(); ++v)
    g.value(static_cast<ValueId>(v)).type = k.types[v];
}

bool rule_holds(const Graph& g, NodeId n) { return rules_hold(g, {&n, 1}); }

bool rules_hold(const Graph& g, std::span<const NodeId> nodes) {
  const auto is_certain = [&](NodeId n) { return g.node(n).region == RegionId::root; };
  if (!g.may_hold_broken_nodes || std::ranges::all_of(nodes, is_certain)) return true;
  TypeEnvironment k = environment_around(g, nodes);
  try {
    for (const NodeId n : nodes) infer_node(g, n, k);
  } catch (const Error& e) {
    if (e.blame() == Blame::internal || ends_run(e)) throw;
    return false;
  }
  return true;
}

bool can_fail(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  std::vector<const Type*> types;
  std::vector<const Tensor*> values;
  for (const ValueId v : node.inputs) {
    types.push_back(v == ValueId::none ? nullptr : &g.value(v).type);
    values.push_back(g.constant(v));
  }
  return node.op->can_fail(TypeContext(node.attributes, types, values, {}, node.outputs.size()));
}

std::string where(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  if (node.source.empty()) return fmt::format("node ({})", node.op->name);
  return node.source;
}

}  // namespace rondel::ir
