#include "passes/predictive_commoning.h"

#include "ir/loop_editor.h"
#include "passes/expressions.h"
#include "passes/loop_body.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::LoopParts;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;
using Values = std::vector<ValueId>;

/// A map from expressions to the nodes that compute them.
class Expressions {
 public:
  Expressions(const Graph& g, const std::vector<NodeId>& nodes) : g_(g) {
    for (const NodeId n : nodes)
      if (is_expression(g.node(n)))
        nodes_.try_emplace(expression_key(g, g.node(n), g.node(n).inputs), n);
  }

  /// The node that applies the op of `like`, with the same attributes, to `inputs`.
  const Node* find(const Node& like, const Values& inputs) const {
    const auto it = nodes_.find(expression_key(g_, like, inputs));
    return it == nodes_.end() ? nullptr : &g_.node(it->second);
  }

 private:
  const Graph& g_;
  std::unordered_map<std::string, NodeId> nodes_;
};

/// One loop, and the values of its body that are also computed for the next trip and before the
/// first.
class Commoning {
 public:
  Commoning(Graph& g, NodeId n) : g_(g), n_(n), parts_(g.node(n)), in_body_(g, body().nodes) {}

  bool run(LoopRemarks said) {
    seed_with_states();
    for (const NodeId n : body().nodes) find_shifted(g_.node(n));
    const Values found = worth_a_state();
    for (const ValueId v : found) {
      said.done([&] {
        return fmt::format("{} became a state: the trip before has computed it",
                           ir::where(g_, g_.value(v).producer));
      });
      add_state_for(v);
    }
    return !found.empty();
  }

 private:
  /// The values that a value of the body will have: in the next trip, as this trip computes it
  /// already, and in the first trip, as it is computed before the loop.
  struct Shifted {
    ValueId next, initial;
    bool costly = false;
  };

  const ir::Region& body() const { return g_.region(parts_.body); }

  /// The nodes before the loop; indexed on first use.
  const Expressions& before() {
    if (!before_) {
      const auto& all = g_.region(g_.node(n_).region).nodes;
      before_.emplace(g_, std::vector<NodeId>(all.begin(), std::ranges::find(all, n_)));
    }
    return *before_;
  }

  void seed_with_states() {
    for (std::size_t s = 0; s < parts_.states; ++s)
      shifted_[body().params[2 + s]] = {body().results[1 + s],
                                        g_.node(n_).inputs[parts_.states_at() + s]};
  }

  std::optional<Shifted> shifted(ValueId v) const {
    if (v == ValueId::none) return Shifted{v, v};
    if (const auto it = shifted_.find(v); it != shifted_.end()) return it->second;
    const bool outside = !g_.encloses(parts_.body, g_.value(v).region);
    if (outside || g_.constant(v) != nullptr) return Shifted{v, v};
    return std::nullopt;
  }

  void find_shifted(const Node& n) {
    if (!is_expression(n)) return;
    Values next, initial;
    bool costly = is_costly(n);
    for (const ValueId v : n.inputs) {
      const auto operand = shifted(v);
      if (!operand) return;
      next.push_back(operand->next);
      initial.push_back(operand->initial);
      costly = costly || operand->costly;
    }
    const Node* after = in_body_.find(n, next);
    const Node* first = after == nullptr ? nullptr : before().find(n, initial);
    if (first == nullptr) return;
    for (std::size_t j = 0; j < n.outputs.size(); ++j)
      if (n.outputs[j] != ValueId::none && after->outputs[j] != ValueId::none &&
          first->outputs[j] != ValueId::none)
        shifted_[n.outputs[j]] = {after->outputs[j], first->outputs[j], costly};
  }

  /// The costly shifted values that results or unshifted nodes of the body read.
  Values worth_a_state() const {
    Values found;
    std::unordered_set<ValueId> seen;
    const auto read = [&](ValueId v) {
      const auto it = shifted_.find(v);
      if (it != shifted_.end() && it->second.costly && it->second.next != v &&
          seen.insert(v).second)
        found.push_back(v);
    };
    for (const NodeId id : body().nodes) {
      const Node& n = g_.node(id);
      if (!n.outputs.empty() && shifted_.contains(n.outputs[0])) continue;
      for (const ValueId v : n.inputs) read(v);
      for (const RegionId r : n.regions)
        for (const ValueId v : g_.captures(r)) read(v);
    }
    for (const ValueId v : body().results) read(v);
    return found;
  }

  void add_state_for(ValueId v) {
    const Shifted f = shifted_.at(v);
    const auto state = ir::LoopEditor(g_, n_).add_state(f.initial, f.next, g_.value(v).type,
                                                        g_.value(v).name);
    g_.replace_uses(v, state.param);
  }

  Graph& g_;
  NodeId n_;
  LoopParts parts_;
  Expressions in_body_;
  std::optional<Expressions> before_;
  std::unordered_map<ValueId, Shifted> shifted_;
};

}  // namespace

bool predictive_commoning(Graph& g, Remarks* remarks) {
  bool changed = false;
  for (std::size_t r = 0; r < g.region_count(); ++r)
    for (const NodeId n : std::vector<NodeId>(g.region(static_cast<RegionId>(r)).nodes))
      if (g.node(n).is_loop()) changed = Commoning(g, n).run({remarks, g, n}) || changed;
  return changed;
}

}  // namespace rondel::passes
