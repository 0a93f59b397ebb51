#include "passes/hoist_invariants.h"

#include "base/cancellation.h"
#include "ir/clone.h"
#include "ops/meaning.h"
#include "passes/loop_body.h"
#include "passes/outer_products.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

std::optional<std::int64_t> size_of(const ir::Type& t) {
  if (!t.is_tensor() || !t.has_rank()) return std::nullopt;
  std::int64_t size = 1;
  for (const ir::Extent& e : t.extents()) {
    if (!e.known() || __builtin_mul_overflow(size, e.value, &size)) return std::nullopt;
  }
  return size;
}

/// Moves invariant nodes out of one loop.
class Hoist {
 public:
  Hoist(Graph& g, NodeId loop, Remarks* remarks)
      : g_(g), loop_(loop), body_(g.node(loop).loop().body), copy_(g, g),
        remarks_(remarks, g, loop) {}

  bool run() {
    const std::vector<NodeId> nodes(g_.region(body_).nodes.begin(), g_.region(body_).nodes.end());
    for (const NodeId n : nodes)
      if (is_invariant(g_.node(n)) && is_worth_it(n) && can_move(n)) invariants_.insert(n);
    bool changed = false;
    for (const NodeId n : nodes) {
      if (!invariants_.contains(n) || is_one_pass_that_fuses(g_.node(n))) continue;
      remarks_.done([&] { return ir::where(g_, n) + " moved before the loop"; });
      move_out(n);
      changed = true;
    }
    return changed;
  }

 private:
  /// Whether a value that is read in the body comes from outside.
  bool is_outside(ValueId v) const { return g_.value(v).region != body_; }
  bool is_invariant(const Node& n) const {
    if (!n.regions.empty() || n.op->random || n.outputs.empty()) return false;
    const auto is_variable = [this](ValueId v) {
      if (v == ValueId::none || g_.constant(v) != nullptr) return false;
      return is_outside(v) || invariants_.contains(g_.value(v).producer);
    };
    const auto is_there = [&](ValueId v) {
      return v == ValueId::none || g_.constant(v) != nullptr || is_variable(v);
    };
    return std::ranges::all_of(n.inputs, is_there) && std::ranges::any_of(n.inputs, is_variable);
  }

  /// Integers stay: type inference in the loop uses the nodes that compute them.
  bool is_worth_it(NodeId id) {
    const Node& n = g_.node(id);
    const auto is_floats = [this](ValueId v) {
      return v == ValueId::none ||
             (g_.value(v).type.is_tensor() && is_float(g_.value(v).type.dtype()));
    };
    if (!std::ranges::all_of(n.outputs, is_floats)) return false;
    if ((is_costly(n) && !is_outer_product(g_, n)) || !is_larger(n)) return true;
    remarks_.left([&] {
      return ir::where(g_, id) + " stays: its result may take more memory than what it reads";
    });
    return false;
  }
  bool can_move(NodeId n) {
    if (cannot_fail(g_, n)) return true;
    remarks_.left(
        [&] { return ir::where(g_, n) + " stays: it may fail, and the loop may make no trip"; });
    return false;
  }
  /// Whether the outputs may have more elements than the inputs.
  bool is_larger(const Node& n) const {
    std::int64_t inputs = 0;
    for (const ValueId v : n.inputs) {
      if (v == ValueId::none) continue;
      const ir::Type& t = g_.value(v).type;
      if (n.outputs.size() == 1 && has_same_extents(t, g_.value(n.outputs[0]).type)) return false;
      inputs += size_of(t).value_or(0);
    }
    std::int64_t outputs = 0;
    for (const ValueId v : n.outputs) {
      const std::optional<std::int64_t> size = v == ValueId::none ? 0 : size_of(g_.value(v).type);
      if (!size) return true;
      outputs += *size;
    }
    return outputs > inputs;
  }
  static bool has_same_extents(const ir::Type& a, const ir::Type& b) {
    if (!a.is_tensor() || !b.is_tensor() || !a.has_rank() || !b.has_rank()) return false;
    const auto is_known = [](const ir::Extent& e) { return e.known() || e.symbolic(); };
    return a.extents() == b.extents() && std::ranges::all_of(a.extents(), is_known);
  }

  /// Whether the node is an element-wise op of one tensor and fuses with all its readers: reading a
  /// tensor of its results instead of its input would save nothing.
  bool is_one_pass_that_fuses(const Node& n) const {
    const auto is_tensor = [this](ValueId v) {
      return v != ValueId::none && !(g_.value(v).type.has_rank() && g_.value(v).type.rank() == 0);
    };
    const auto is_fused = [this](const ir::Use& use) {
      return use.node != NodeId::none && ops::is_elementwise(*g_.node(use.node).op) &&
             !invariants_.contains(use.node);
    };
    return ops::is_elementwise(*n.op) && std::ranges::count_if(n.inputs, is_tensor) == 1 &&
           std::ranges::all_of(g_.value(n.outputs[0]).uses, is_fused);
  }

  void move_out(NodeId n) {
    const RegionId outside = g_.node(loop_).region;
    const std::vector<ValueId> inputs = g_.node(n).inputs;
    for (const ValueId v : inputs)
      if (v != ValueId::none && !is_outside(v) && copy_(v) == v)
        copy_.node(g_.value(v).producer, outside, loop_);
    copy_.node(n, outside, loop_);
    for (const ValueId v : std::vector<ValueId>(g_.node(n).outputs))
      if (v != ValueId::none) g_.replace_uses(v, copy_(v));
    g_.erase_node(n);
    for (const ValueId v : inputs)
      if (v != ValueId::none && !is_outside(v)) erase_if_unread(g_.value(v).producer);
  }
  /// The constant may be erased already, because a node may read it twice.
  void erase_if_unread(NodeId constant) {
    if (!g_.is_erased(constant) && !g_.is_read(g_.node(constant).outputs[0]))
      g_.erase_node(constant);
  }

  Graph& g_;
  const NodeId loop_;
  const RegionId body_;
  ir::Cloner copy_;
  std::unordered_set<NodeId> invariants_;  ///< nodes of the body that are worth moving
  LoopRemarks remarks_;
};

}  // namespace

bool hoist_invariants(Graph& g, Remarks* remarks) {
  bool changed = false;
  for (const NodeId n : loops_inside_out(g)) {  // a node may move out of several loops
    check_cancellation();
    changed = Hoist(g, n, remarks).run() || changed;
  }
  return changed;
}

}  // namespace rondel::passes
