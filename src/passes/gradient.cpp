#include "passes/gradient.h"

#include "base/cancellation.h"
#include "base/error.h"
#include "ir/builder.h"
#include "ir/infer.h"
#include "ops/gradients.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// Only floats have adjoints.
bool has_adjoint(const Graph& g, ValueId v) {
  if (v == ValueId::none) return false;
  const ir::Type& t = g.value(v).type;
  return t.kind() != ir::Type::Kind::none && is_float(t.dtype());
}

class Differentiation {
 public:
  Differentiation(Graph& g, const GradientRequest& r) : g_(g), r_(r), b_(g, root_) {
    stopped_.insert(r.stop.begin(), r.stop.end());
  }

  std::vector<ValueId> run() {
    const std::vector<NodeId> nodes = find_influenced();
    for (std::size_t k = 0; k < r_.of.size(); ++k) add(r_.of[k], seed(k));
    for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) {
      check_cancellation();
      differentiate(*n);
    }
    std::vector<ValueId> result;
    for (const ValueId v : r_.by) {
      const ValueId adjoint = total(v);
      result.push_back(adjoint != ValueId::none ? adjoint : ops::zeros_like(b_, v));
    }
    return result;
  }

 private:
  /// The nodes of the root that `by` has influence on, in order.
  std::vector<NodeId> find_influenced() {
    for (const ValueId v : r_.by)
      if (!stopped_.contains(v)) influenced_.insert(v);
    std::vector<NodeId> nodes;
    for (const NodeId n : g_.root().nodes) {
      if (!reads_influenced(n)) continue;
      nodes.push_back(n);
      for (const ValueId v : g_.node(n).outputs)
        if (has_adjoint(g_, v) && !stopped_.contains(v)) influenced_.insert(v);
    }
    return nodes;
  }
  bool reads_influenced(NodeId n) const {
    const auto is_influenced = [this](ValueId v) { return influenced_.contains(v); };
    const Node& node = g_.node(n);
    if (std::ranges::any_of(node.inputs, is_influenced)) return true;
    for (const ir::RegionId r : node.regions)
      if (std::ranges::any_of(g_.captures(r), is_influenced)) return true;
    return false;
  }

  ValueId seed(std::size_t k) {
    if (k < r_.seed.size() && r_.seed[k] != ValueId::none) return r_.seed[k];
    const ValueId v = r_.of[k], one = b_.scalar(g_.value(v).type.dtype(), 1);
    return b_("expand", {one, b_("shape", {v})});
  }

  std::vector<ValueId> adjoints_of_inputs(NodeId n, std::span<const ValueId> adjoints) {
    try {
      return g_.node(n).op->gradient(b_, g_.node(n), adjoints);
    } catch (const Error& e) {
      if (e.blame() != Blame::unsupported) throw;
      unsupported("{}: {}; on the way to it: {}", ir::where(g_, n), e.what(), path_to(n));
    }
  }

  void differentiate(NodeId n) {
    const Node& node = g_.node(n);
    std::vector<ValueId> adjoints;
    for (const ValueId v : node.outputs)
      adjoints.push_back(influenced_.contains(v) ? total(v) : ValueId::none);
    const auto is_none = [](ValueId v) { return v == ValueId::none; };
    if (std::ranges::all_of(adjoints, is_none)) return;
    if (!node.op->gradient) refuse(n);
    b_.source(node.source);
    const std::vector<ValueId> found = adjoints_of_inputs(n, adjoints);
    invariant(found.size() == node.inputs.size(), "{}: its gradient gives {} of {} adjoints",
              ir::where(g_, n), found.size(), node.inputs.size());
    for (std::size_t k = 0; k < found.size(); ++k)
      if (found[k] != ValueId::none && influenced_.contains(node.inputs[k]))
        add(node.inputs[k], found[k]);
  }

  /// What rules append tells types less well than the model does: an adjoint is of v's type.
  void add(ValueId v, ValueId adjoint) {
    ir::Type& t = g_.value(adjoint).type;
    t = ir::completed(t, g_.value(v).type);
    parts_[v].push_back(adjoint);
  }
  /// The sum of what was added to v's adjoint, none where nothing was.
  ValueId total(ValueId v) {
    const auto found = parts_.find(v);
    if (found == parts_.end()) return ValueId::none;
    std::vector<ValueId>& parts = found->second;
    for (std::size_t k = 1; k < parts.size(); ++k) parts[0] = b_("add", {parts[0], parts[k]});
    parts.resize(1);
    return parts[0];
  }

  [[noreturn]] void refuse(NodeId n) const {
    unsupported(
        "{} has no gradient; on the way to it: {}. Name one of the values between in "
        "stop_gradient, or leave the inputs behind it out of wrt",
        ir::where(g_, n), path_to(n));
  }
  /// The values from what is differentiated to the node.
  std::string path_to(NodeId n) const {
    std::string path;
    for (NodeId at = n; at != NodeId::none; at = reader_of(at)) {
      const ValueId v = differentiated_output(at);
      const std::string& name = g_.value(v).name;
      path = (name.empty() ? ir::where(g_, at) : "'" + name + "'") +
             (path.empty() ? "" : " <- " + path);
      if (std::ranges::find(r_.of, v) != r_.of.end()) break;
    }
    return path;
  }
  ValueId differentiated_output(NodeId n) const {
    for (const ValueId v : g_.node(n).outputs)
      if (parts_.contains(v)) return v;
    return g_.node(n).outputs[0];
  }
  /// A node that reads a differentiated output of n and has been differentiated.
  NodeId reader_of(NodeId n) const {
    for (const ir::Use& use : g_.value(differentiated_output(n)).uses) {
      if (use.node == NodeId::none || g_.node(use.node).region != root_) continue;
      for (const ValueId v : g_.node(use.node).outputs)
        if (influenced_.contains(v) && parts_.contains(v)) return use.node;
    }
    return NodeId::none;
  }

  static constexpr ir::RegionId root_{};
  Graph& g_;
  const GradientRequest& r_;
  ir::Builder b_;
  std::unordered_set<ValueId> influenced_, stopped_;
  std::unordered_map<ValueId, std::vector<ValueId>> parts_;  ///< of adjoints
};

}  // namespace

std::vector<ValueId> add_gradient(Graph& g, const GradientRequest& r) {
  return Differentiation(g, r).run();
}

}  // namespace rondel::passes
