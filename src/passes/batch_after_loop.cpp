#include "passes/batch_after_loop.h"

#include "base/axis.h"
#include "base/cancellation.h"
#include "ir/loop_editor.h"
#include "ops/batching.h"
#include "passes/batched_trips.h"
#include "passes/loop_body.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

namespace rondel::passes {
namespace {

using ir::Batch;
using ir::Graph;
using ir::LoopParts;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

/// Nodes that move together: a product and all that its result leads to.
struct Group {
  std::vector<NodeId> nodes;        ///< in order
  std::vector<ValueId> operands;    ///< what differs from trip to trip and is computed elsewhere
  std::vector<ValueId> outer;       ///< what comes from outside of the loop
  std::vector<std::size_t> stacks;  ///< that the nodes' results are the items of
  bool reverse = false;
};

bool is_view(const Node& n) { return ops::meaning_as<ops::ViewMeaning>(*n.op) != nullptr; }

/// Moves products out of one loop.
class AfterLoop {
 public:
  AfterLoop(Graph& g, NodeId n, Remarks* remarks)
      : g_(g), n_(n), loop_(g, n), types_(types_in(g, n)), behind_(g, g.node(n).region),
        remarks_(remarks, g, n) {}

  bool run() {
    bool changed = false;
    while (run_once()) {
      changed = true;
      remarks_.try_again();
    }
    return changed;
  }

 private:
  const LoopParts& parts() const { return loop_.parts(); }
  const ir::Region& body() const { return g_.region(parts().body); }
  const Type& type(ValueId v) const { return types_.types[ir::index(v)]; }
  bool is_outside(ValueId v) const { return !g_.encloses(parts().body, g_.value(v).region); }
  /// Whether the value is computed in a trip. Constants are not.
  bool differs(ValueId v) const {
    return v != ValueId::none && !is_outside(v) && g_.constant(v) == nullptr;
  }

  /// The body changes with each move.
  bool run_once() {
    bool changed = false;
    find_late();
    for (const NodeId n : std::vector<NodeId>(body().nodes.begin(), body().nodes.end())) {
      if (g_.is_erased(n) || !is_worth_it(n)) continue;
      if (!move(led_to_by(n, true)) && !move(led_to_by(n, false))) {
        leave(n, "its operands of all trips could take too much memory, or not fit together");
        continue;
      }
      changed = true;
      find_late();
    }
    return changed;
  }

  bool is_worth_it(NodeId n) {
    const Product product = product_of(g_, g_.node(n), types_,
                                       [&](ValueId v) { return differs(v); });
    if (product == Product::none || product == Product::constant) return false;
    if (!late_.contains(n)) return leave(n, "the loop does more with its result than to stack it");
    return product == Product::by_weights || leave(n, why_not(product));
  }
  /// Returns false.
  bool leave(NodeId n, const char* why) {
    remarks_.left([&] { return fmt::format("{} stays: {}", ir::where(g_, n), why); });
    return false;
  }

  // The nodes that may be computed after the last trip.

  /// Finds the nodes whose results lead to stacks of one direction and nowhere else.
  void find_late() {
    late_.clear();
    std::vector<NodeId> nodes(body().nodes.begin(), body().nodes.end());
    for (auto n = nodes.rbegin(); n != nodes.rend(); ++n)
      if (const auto reverse = direction_of_uses(g_.node(*n)); reverse && can_move(*n))
        late_[*n] = *reverse;
  }
  /// Whether the stacks are reversed; nothing if the uses do not agree.
  std::optional<bool> direction_of_uses(const Node& node) const {
    if (node.outputs.size() != 1 || !g_.is_read(node.outputs[0])) return std::nullopt;
    std::optional<bool> all;
    for (const ir::Use& use : g_.value(node.outputs[0]).uses) {
      const std::optional<bool> one = use.node == NodeId::none ? direction_of_result(use)
                                                               : direction_of(use.node);
      if (!one || (all && *all != *one)) return std::nullopt;
      all = one;
    }
    return all;
  }
  std::optional<bool> direction_of(NodeId n) const {
    const auto at = late_.find(n);
    return at == late_.end() ? std::nullopt : std::optional(at->second);
  }
  std::optional<bool> direction_of_result(const ir::Use& use) const {
    const std::size_t first = 1 + parts().states;
    if (use.region != parts().body || use.index < first) return std::nullopt;
    const std::size_t k = use.index - first;
    if (parts().has_extent(k) || !g_.is_read(loop_.stack(k))) return std::nullopt;
    if (is_in_loop(g_, g_.node(n_).region) && !g_.value(loop_.stack(k)).type.is_static())
      return std::nullopt;
    return parts().reverse_out[k] != 0;
  }
  bool can_move(NodeId n) const {
    const Node& node = g_.node(n);
    return node.regions.empty() && !node.op->random && keeps_shape(types_, node.outputs[0]) &&
           std::ranges::any_of(node.inputs, [&](ValueId v) { return differs(v); }) &&
           cannot_fail(g_, n);
  }

  /// The group that begins with a product, or with the views that are made for the group alone.
  Group led_to_by(NodeId first, bool with_views) const {
    std::unordered_set<ValueId> made;
    const std::vector<NodeId> nodes(body().nodes.begin(), body().nodes.end());
    for (const NodeId n : nodes)
      if (n == first ||
          std::ranges::any_of(g_.node(n).inputs, [&](ValueId v) { return made.contains(v); }))
        made.insert(g_.node(n).outputs[0]);
    for (auto n = nodes.rbegin(); n != nodes.rend(); ++n)
      if (with_views && is_view_for(*n, made)) made.insert(g_.node(*n).outputs[0]);
    return group_of(made, late_.at(first));
  }
  /// Whether the node is a view that only nodes with results in `made` read.
  bool is_view_for(NodeId n, const std::unordered_set<ValueId>& made) const {
    const Node& node = g_.node(n);
    return late_.contains(n) && is_view(node) &&
           std::ranges::all_of(g_.value(node.outputs[0]).uses, [&](const ir::Use& use) {
             return use.node != NodeId::none && made.contains(g_.node(use.node).outputs[0]);
           });
  }
  Group group_of(const std::unordered_set<ValueId>& made, bool reverse) const {
    Group group{.reverse = reverse};
    std::unordered_set<ValueId> seen;
    for (const NodeId n : body().nodes) {
      const Node& node = g_.node(n);
      if (node.outputs.empty() || !made.contains(node.outputs[0])) continue;
      group.nodes.push_back(n);
      for (const ValueId v : node.inputs)
        if (v != ValueId::none && !made.contains(v) && seen.insert(v).second)
          (differs(v) ? group.operands : group.outer).push_back(v);
    }
    for (std::size_t k = 0; k < parts().stacks; ++k)
      if (made.contains(loop_.item(k))) group.stacks.push_back(k);
    return group;
  }

  // What a move costs.

  /// Whether the operands that are not stacked yet, and each value behind the loop, take little
  /// memory beside the stacks that the move replaces.
  bool is_bounded(const Group& group) const {
    double added = 0, room = std::numeric_limits<double>::infinity();
    for (const ValueId v : group.operands) {
      if (!keeps_shape(types_, v)) return false;
      room = std::min(room, room_for(v, group));
      if (existing_stack(v, group) == ValueId::none) added += TensorSize::of(type(v))->bytes;
    }
    return added <= room && std::ranges::all_of(group.nodes, [&](NodeId n) {
             const ValueId v = g_.node(n).outputs[0];
             return is_view(g_.node(n)) || TensorSize::of(type(v))->bytes <= room_for(v, group);
           });
  }
  /// The stacks that have all extents of `v` that are not numbers make room for it.
  double room_for(ValueId v, const Group& group) const {
    const std::vector<std::string> symbols = TensorSize::of(type(v))->symbols;
    double room = 0;
    for (const std::size_t k : group.stacks)
      if (const auto size = TensorSize::of(type(loop_.item(k)));
          size && std::ranges::includes(size->symbols, symbols))
        room += most_growth * size->bytes;
    return room;
  }

  /// A tensor with all values of `v` along its first axis: a stack, or a scanned tensor. None if
  /// there is none.
  ValueId existing_stack(ValueId v, const Group& group) const {
    for (std::size_t k = 0; k < parts().stacks; ++k)
      if (loop_.item(k) == v && loop_.stack(k) != ValueId::none && !parts().has_extent(k) &&
          axis_of(k) == 0 && (parts().reverse_out[k] != 0) == group.reverse)
        return loop_.stack(k);
    for (std::size_t k = 0; k < parts().scans; ++k)
      if (body().params[2 + parts().states + k] == v && is_scanned_whole(k, group))
        return loop_.scanned(k);
    return ValueId::none;
  }
  /// Whether the loop reads the whole tensor along its first axis, in the direction of the stacks.
  bool is_scanned_whole(std::size_t k, const Group& group) const {
    const Type& t = g_.value(loop_.scanned(k)).type;
    return !parts().has_trips && !parts().has_go && t.is_tensor() && t.has_rank() &&
           axis_from_front(parts().axis_in[k], t.rank()) == 0 &&
           (parts().reverse_in[k] != 0) == group.reverse &&
           t.extent(0) == trips_of_stack(group.stacks[0]);
  }
  std::int64_t axis_of(std::size_t k) const {
    return axis_from_front(parts().axis_out[k], type(loop_.item(k)).rank() + 1);
  }

  /// Whether the operands fit together even if the loop makes no trip. The shapes of its items are
  /// then inferred; where shapes in the body contradict each other, extents that are not numbers
  /// may remain unknown.
  bool agrees_without_trips(const Group& group) const {
    if (shapes_agree(types_)) return true;
    std::unordered_set<std::string> seen;
    for (const auto* values : {&group.operands, &group.outer})
      for (const ValueId v : *values) {
        const auto size = TensorSize::of(differs(v) ? type(v) : g_.value(v).type);
        if (!size) return false;
        for (const std::string& symbol :
             std::unordered_set<std::string>(size->symbols.begin(), size->symbols.end()))
          if (!seen.insert(symbol).second) return false;
      }
    return true;
  }

  // The calls behind the loop.

  bool move(const Group& group) {
    if (!is_bounded(group) || !agrees_without_trips(group)) return false;
    const std::size_t stacks = parts().stacks, nodes = g_.node_count();
    const NodeId next = g_.next(n_);  // may be of a call that reads the stacks replaced now
    behind_.insert_after(n_);
    std::unordered_map<ValueId, Batch> batches;
    ir::Cloner copy(g_, g_);
    for (const ValueId v : group.operands) batches[v] = {stack_of(v, group), true};
    for (const ValueId v : group.outer) {
      if (!is_outside(v)) copy.node(g_.value(v).producer, behind_.region(), next);
      batches[v] = {copy(v), false};
    }
    const ir::Extent trips = trips_of_stack(group.stacks[0]);
    for (const NodeId n : group.nodes)
      if (!write(n, trips, batches)) {
        erase_nodes_since(g_, nodes);
        while (parts().stacks > stacks) loop_.remove_stack(parts().stacks - 1);
        return false;
      }
    for (const NodeId n : group.nodes)
      remarks_.done([&] {
        return fmt::format("{} is computed for all trips after the loop", ir::where(g_, n));
      });
    for (auto k = group.stacks.rbegin(); k != group.stacks.rend(); ++k)
      replace_stack(*k, batches.at(loop_.item(*k)).value);
    erase_unread(g_, parts().body);
    return true;
  }

  ValueId stack_of(ValueId v, const Group& group) {
    if (const ValueId stack = existing_stack(v, group); stack != ValueId::none) return stack;
    return loop_.add_stack(v, 0, group.reverse, ValueId::none,
                           stack_type(type(v), trips_of_stack(group.stacks[0])), g_.value(v).name);
  }
  ir::Extent trips_of_stack(std::size_t k) const {
    const Type& t = g_.value(loop_.stack(k)).type;
    return t.is_tensor() && t.has_rank() ? t.extent(axis_of(k)) : ir::Extent();
  }

  /// Writes the call that computes the node's result for all trips; false if none can.
  bool write(NodeId n, const ir::Extent& trips, std::unordered_map<ValueId, Batch>& batches) {
    const Node& node = g_.node(n);
    std::vector<Batch> operands;
    for (const ValueId v : node.inputs)
      operands.push_back(v == ValueId::none ? Batch{} : batches.at(v));
    behind_.source(node.source);
    const std::vector<ValueId> all = ops::batched(behind_, node, operands);
    if (all.empty()) return false;
    batches[node.outputs[0]] = {all[0], true};
    complete_type(g_, all[0], type(node.outputs[0]), trips);
    return true;
  }

  void replace_stack(std::size_t k, ValueId all) {
    const ValueId old = loop_.stack(k);
    const ValueId now = with_axis_moved(behind_, all, 0, axis_of(k));
    if (g_.value(now).name.empty()) g_.value(now).name = g_.value(old).name;
    g_.replace_uses(old, now);
    loop_.remove_stack(k);
  }

  Graph& g_;
  const NodeId n_;
  ir::LoopEditor loop_;
  const ir::TypeEnvironment types_;
  ir::Builder behind_;
  std::unordered_map<NodeId, bool> late_;  ///< whether the stacks that they lead to are reversed
  LoopRemarks remarks_;
};

}  // namespace

bool batch_after_loop(Graph& g, Remarks* remarks) {
  bool changed = false;
  for (const NodeId n : loops_inside_out(g)) {
    check_cancellation();
    if (g.node(n).loop().stacks > 0 && is_known_before(g, n))
      changed = AfterLoop(g, n, remarks).run() || changed;
  }
  return changed;
}

}  // namespace rondel::passes
