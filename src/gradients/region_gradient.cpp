#include "gradients/region_gradient.h"

#include "base/cancellation.h"
#include "base/error.h"
#include "ir/clone.h"
#include "ir/infer.h"
#include "ir/user_op.h"
#include "ops/gradients.h"
#include "ops/meaning.h"

#include <algorithm>

namespace rondel::gradients {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

void RegionGradient::run() {
  const auto& list = g_.region(b_.region()).nodes;
  const std::vector<NodeId> nodes(list.begin(), list.end());
  for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) {
    check_cancellation();
    differentiate(*n);
  }
}

/// An adjoint has the type of v, which may be known better than the type that gradient rules infer.
/// An adjoint from outside the region gets the refined type on a copy only, because other regions
/// may use it for values of other types.
void RegionGradient::add(ValueId v, ValueId adjoint) {
  const ir::Type known = ir::completed(g_.value(adjoint).type, g_.value(v).type);
  if (!(known == g_.value(adjoint).type)) {
    if (g_.value(adjoint).region != b_.region()) adjoint = b_("identity", {adjoint});
    g_.value(adjoint).type = known;
  }
  terms_[v].push_back(adjoint);
}

ValueId RegionGradient::adjoint(ValueId v) {
  const auto found = terms_.find(v);
  if (found == terms_.end()) return ValueId::none;
  std::vector<ValueId>& parts = found->second;
  for (std::size_t k = 1; k < parts.size(); ++k)
    parts[0] = ops::sum_of_adjoints(b_, parts[0], parts[k]);
  parts.resize(1);
  return parts[0];
}

void RegionGradient::differentiate(NodeId n) {
  const Node& node = g_.node(n);
  std::vector<ValueId> adjoints;
  for (const ValueId v : node.outputs)
    adjoints.push_back(influence_.contains(v) && !influence_.is_variable(v) ? adjoint(v)
                                                                            : ValueId::none);
  const auto is_none = [](ValueId v) { return v == ValueId::none; };
  if (std::ranges::all_of(adjoints, is_none)) return;
  b_.source(node.source);
  if (node.is_loop()) differentiate_loop(n, adjoints);
  else if (!node.regions.empty()) differentiate_if(n, adjoints);
  else differentiate_op(n, adjoints);
}

void RegionGradient::differentiate_op(NodeId n, std::span<const ValueId> adjoints) {
  const Node& node = g_.node(n);
  if (!node.op->gradient) refuse(n);
  const std::vector<ValueId> found = adjoints_of_inputs(n, adjoints);
  invariant(found.size() == node.inputs.size(), "{}: its gradient gives {} of {} adjoints",
            ir::where(g_, n), found.size(), node.inputs.size());
  for (std::size_t k = 0; k < found.size(); ++k)
    if (found[k] != ValueId::none && influence_.contains(node.inputs[k]))
      add(node.inputs[k], found[k]);
}

std::vector<ValueId> RegionGradient::influenced_captures(NodeId n) const {
  std::vector<ValueId> captures;
  for (const ir::RegionId r : g_.node(n).regions)
    for (const ValueId v : g_.captures(r))
      if (influence_.contains(v) && std::ranges::find(captures, v) == captures.end())
        captures.push_back(v);
  return captures;
}

/// The adjoint is an `if` with the same condition, whose branches recompute the values that the
/// adjoints need.
void RegionGradient::differentiate_if(NodeId n, std::span<const ValueId> adjoints) {
  const std::vector<ValueId> captures = influenced_captures(n);
  if (captures.empty()) return;
  const auto branch = [&](ir::RegionId original) {
    return [&, original](ir::Builder& b) {
      ir::Cloner clone(g_, g_);
      const auto& list = g_.region(original).nodes;
      const std::vector<NodeId> nodes(list.begin(), list.end());
      for (const NodeId inner : nodes) clone.node(inner, b.region());
      Influence influence(g_);
      for (const ValueId v : captures) influence.add(v);
      influence.spread(b.region());
      RegionGradient gradient(b, influence);
      for (std::size_t j = 0; j < adjoints.size(); ++j)
        if (const ValueId result = clone(g_.region(original).results[j]);
            adjoints[j] != ValueId::none && influence.contains(result))
          gradient.add(result, adjoints[j]);
      gradient.run();
      std::vector<ValueId> results;
      for (const ValueId v : captures) {
        const ValueId adjoint = gradient.adjoint(v);
        results.push_back(adjoint != ValueId::none ? adjoint : ops::zeros_like(b, v));
      }
      return results;
    };
  };
  const ir::RegionId then = g_.node(n).regions[0], otherwise = g_.node(n).regions[1];
  const std::vector<ValueId> found = b_.if_(g_.node(n).inputs[0], branch(then), branch(otherwise));
  for (std::size_t k = 0; k < captures.size(); ++k) add(captures[k], found[k]);
}

void RegionGradient::differentiate_loop(NodeId n, std::span<const ValueId> adjoints) {
  const LoopAdjoints found = loop_gradient(b_, n, adjoints, influence_, influenced_captures(n));
  const std::vector<ValueId> inputs = g_.node(n).inputs;
  for (std::size_t k = 0; k < found.inputs.size(); ++k)
    if (found.inputs[k] != ValueId::none && influence_.contains(inputs[k]))
      add(inputs[k], found.inputs[k]);
  for (const auto& [v, adjoint] : found.captures) add(v, adjoint);
}

std::vector<ValueId> RegionGradient::adjoints_of_inputs(NodeId n,
                                                        std::span<const ValueId> adjoints) {
  try {
    return g_.node(n).op->gradient(b_, g_.node(n), adjoints);
  } catch (const Error& e) {
    if (e.blame() != Blame::unsupported) throw;
    unsupported("{}: {}; on the way to it: {}", ir::where(g_, n), e.what(), path_to(n));
  }
}

void RegionGradient::refuse(NodeId n) const {
  if (ops::meaning_as<ops::Composite>(*g_.node(n).op) != nullptr)
    unsupported(
        "{} has a gradient only where the rank of {}, and what else decides on its graph, is "
        "known; a declared shape would do",
        ir::where(g_, n), g_.value(g_.node(n).inputs[0]).name);
  const char* way_out = ir::user_op(*g_.node(n).op) == nullptr
                            ? "Name"
                            : "Register the op with a gradient (`gradient=`), or name";
  unsupported(
      "{} has no gradient; on the way to it: {}. {} one of the values between in stop_gradient, "
      "or leave the inputs behind it out of wrt",
      ir::where(g_, n), path_to(n), way_out);
}

/// The values on a path from the differentiated output to the node, for error messages.
std::string RegionGradient::path_to(NodeId n) const {
  std::string path;
  for (NodeId at = n; at != NodeId::none; at = reader_of(at)) {
    const std::string& name = g_.value(differentiated_output(at)).name;
    path = (name.empty() ? ir::where(g_, at) : "'" + name + "'") +
           (path.empty() ? "" : " <- " + path);
  }
  return path;
}

ValueId RegionGradient::differentiated_output(NodeId n) const {
  for (const ValueId v : g_.node(n).outputs)
    if (terms_.contains(v)) return v;
  return g_.node(n).outputs[0];
}

/// A node that reads a differentiated output of n and has been differentiated.
NodeId RegionGradient::reader_of(NodeId n) const {
  for (const ir::Use& use : g_.value(differentiated_output(n)).uses) {
    if (use.node == NodeId::none || g_.node(use.node).region != b_.region()) continue;
    for (const ValueId v : g_.node(use.node).outputs)
      if (influence_.contains(v) && terms_.contains(v)) return use.node;
  }
  return NodeId::none;
}

}  // namespace rondel::gradients
