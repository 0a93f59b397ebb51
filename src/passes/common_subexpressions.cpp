#include "passes/common_subexpressions.h"

#include "base/cancellation.h"
#include "ir/user_op.h"
#include "ops/meaning.h"
#include "passes/expressions.h"
#include "passes/replace_value.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

class CommonSubexpressions {
 public:
  CommonSubexpressions(Graph& g, Remarks* remarks) : g_(g), remarks_(remarks) {}

  /// Visits the nodes of a region in their order, with those that are computed before them at hand.
  bool run(RegionId r) {
    std::vector<std::size_t> added;
    bool changed = false;
    for (const NodeId n :
         std::vector<NodeId>(g_.region(r).nodes.begin(), g_.region(r).nodes.end())) {
      check_cancellation();
      for (const RegionId inner : g_.node(n).regions) changed = run(inner) || changed;
      if (!is_candidate(g_.node(n))) continue;
      const std::size_t hash = hash_of(g_.node(n));
      if (const NodeId same = computed_before(n, hash); same != NodeId::none) {
        replace(n, same);
        changed = true;
      } else {
        before_[hash].push_back(n);
        added.push_back(hash);
      }
    }
    for (const std::size_t hash : added) before_[hash].pop_back();
    return changed;
  }

 private:
  /// A user's op may do more than compute its results.
  bool is_candidate(const Node& n) const {
    return is_expression(n) && ir::user_op(*n.op) == nullptr && !n.inputs.empty() &&
           std::ranges::all_of(n.outputs, [&](ValueId v) {
             return v == ValueId::none || g_.value(v).type.is_tensor();
           });
  }
  /// Equal for equal expressions. Attributes count, and constants by value: thousands of nodes may
  /// read elements of one tensor, each its own.
  std::size_t hash_of(const Node& n) const {
    std::size_t hash = std::hash<std::string>()(expression_key(g_, n, {}));
    for (const ValueId v : n.inputs) {
      const bool by_value = v != ValueId::none && g_.constant(v) != nullptr;
      hash = hash * 31 + (by_value ? std::hash<std::string>()(operand_key(g_, v))
                                   : static_cast<std::size_t>(v) + 1);
    }
    return hash;
  }
  NodeId computed_before(NodeId n, std::size_t hash) const {
    const auto found = before_.find(hash);
    if (found == before_.end()) return NodeId::none;
    const Node& node = g_.node(n);
    for (const NodeId other : found->second)
      if (is_same(g_.node(other), node) && (in_one_region(other, n) || is_worth_a_read(node)))
        return other;
    return NodeId::none;
  }
  bool is_same(const Node& a, const Node& b) const {
    if (a.op != b.op || a.outputs.size() != b.outputs.size() ||
        expression_key(g_, a, a.inputs) != expression_key(g_, b, b.inputs))
      return false;
    for (std::size_t k = 0; k < a.outputs.size(); ++k) {
      if (b.outputs[k] == ValueId::none) continue;
      if (a.outputs[k] == ValueId::none ||
          !ir::fits(g_.value(a.outputs[k]).type, g_.value(b.outputs[k]).type))
        return false;  // nothing makes the output, or the model says unlike things of its shape
    }
    return true;
  }
  bool in_one_region(NodeId a, NodeId b) const { return g_.node(a).region == g_.node(b).region; }
  bool is_worth_a_read(const Node& n) const {
    return std::ranges::all_of(n.outputs, [&](ValueId v) {
      if (v == ValueId::none) return true;
      const ir::Type& t = g_.value(v).type;
      return is_float(t.dtype()) &&
             (!ops::is_elementwise(*n.op) || (t.has_rank() && t.rank() == 0));
    });
  }
  void replace(NodeId n, NodeId same) {
    tell(n, same);
    const bool here = in_one_region(n, same);
    for (std::size_t k = 0; k < g_.node(n).outputs.size(); ++k) {
      const ValueId from = g_.node(n).outputs[k], to = g_.node(same).outputs[k];
      if (from == ValueId::none) continue;
      // What the model declares in an inner region need not hold outside of it.
      if (here) g_.value(to).type = ir::completed(g_.value(to).type, g_.value(from).type);
      replace_value(g_, from, to);
    }
    g_.erase_node(n);
  }
  void tell(NodeId n, NodeId same) {
    const NodeId around = g_.region(g_.node(n).region).parent;
    if (around == NodeId::none || !g_.node(around).is_loop()) return;
    LoopRemarks(remarks_, g_, around).done([&] {
      return ir::where(g_, n) + " is left out: " + ir::where(g_, same) + " computes the same";
    });
  }

  Graph& g_;
  Remarks* remarks_;
  /// Nodes of this region and of those around it, by the hash of their expressions.
  std::unordered_map<std::size_t, std::vector<NodeId>> before_;
};

}  // namespace

bool common_subexpressions(Graph& g, Remarks* remarks) {
  return CommonSubexpressions(g, remarks).run(RegionId::root);
}

}  // namespace rondel::passes
