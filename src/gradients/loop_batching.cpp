#include "gradients/loop_batching.h"

#include "ir/loop_editor.h"
#include "ops/batching.h"
#include "ops/compose.h"
#include "ops/meaning.h"
#include "passes/loop_body.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace rondel::gradients {
namespace {

using ir::Batch;
using ir::LoopParts;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

/// All stacks made here are along the first axis and reversed, the last trip first, so that they
/// match reversed scans.
class BehindLoop {
 public:
  BehindLoop(ir::Builder& behind, NodeId n)
      : g_(behind.graph()), b_(behind), n_(n), loop_(g_, n), types_(passes::types_in(g_, n)) {
    find_invariants();
    find_inner_stacks();
  }

  /// The value that replaces a sum; none if no product moves out of it.
  ValueId move_sum(std::size_t s) {
    const ValueId param = body().params[2 + s];
    std::vector<ValueId> terms, rest;
    collect_terms(body().results[1 + s], terms);
    if (std::erase(terms, param) != 1 || g_.value(param).uses.size() != 1) return ValueId::none;
    const DType t = g_.value(param).type.dtype();
    ValueId total = ValueId::none;
    for (const ValueId term : terms) {
      const ValueId product = summed_behind(term);
      if (product == ValueId::none) rest.push_back(term);
      else if (total == ValueId::none) total = ops::as(b_, product, t);
      else total = b_("add", {total, ops::as(b_, product, t)});
    }
    if (total == ValueId::none) return ValueId::none;
    ir::Builder inside(g_, parts().body);
    ValueId next = param;
    for (const ValueId term : rest) next = inside("add", {next, ops::as(inside, term, t)});
    loop_.set_next(s, next);
    passes::erase_unread(g_, parts().body);
    if (!rest.empty()) return b_("add", {g_.node(n_).outputs[s], total});
    loop_.remove_state(s);
    return total;
  }

  /// The value that replaces a stack; none if the stack stays.
  ValueId move_stack(std::size_t k) {
    if (g_.is_read(loop_.stack(k))) return ValueId::none;  // a call moved before reads it
    const ValueId item = loop_.item(k);
    const NodeId made_by = maker(item);
    if (made_by == NodeId::none || !passes::is_costly(g_.node(made_by)) || !is_stacked_as_here(k))
      return ValueId::none;
    if (g_.value(item).uses.size() != 1 || !reads_captured_tensor(g_.node(made_by)))
      return ValueId::none;
    const auto operands = stacked_operands(made_by);
    if (!operands) return ValueId::none;
    const std::vector<ValueId> y = ops::batched(b_, g_.node(made_by), *operands);
    if (y.empty()) return ValueId::none;
    const ValueId all = y[static_cast<std::size_t>(g_.value(item).position)];
    loop_.remove_stack(k);
    passes::erase_unread(g_, parts().body);
    return all;
  }

  /// Removes stacks that were made for a call that was not moved.
  void remove_unread_stacks() {
    for (std::size_t k = parts().stacks; k-- > 0;)
      if (std::ranges::count(made_, loop_.stack(k)) > 0 && !g_.is_read(loop_.stack(k)))
        loop_.remove_stack(k);
  }

 private:
  const LoopParts& parts() const { return loop_.parts(); }
  const ir::Region& body() const { return g_.region(parts().body); }
  bool is_of_trip(ValueId v) const { return g_.value(v).region == parts().body; }
  /// Finds the values of the body that depend on no value of a trip.
  void find_invariants() {
    const auto is_same = [this](ValueId x) {
      return x == ValueId::none || !is_of_trip(x) || invariants_.contains(x);
    };
    for (const NodeId n : body().nodes)
      if (const Node& node = g_.node(n);
          node.regions.empty() && std::ranges::all_of(node.inputs, is_same))
        invariants_.insert(node.outputs.begin(), node.outputs.end());
  }
  /// Finds the values of the body that are stacks of inner loops, or views of such stacks.
  void find_inner_stacks() {
    for (const NodeId n : body().nodes) {
      const Node& node = g_.node(n);
      if (node.is_loop()) {
        const auto first = node.outputs.begin() + static_cast<std::ptrdiff_t>(node.loop().states);
        inner_stacks_.insert(first, node.outputs.end());
      } else if (ops::meaning_as<ops::ViewMeaning>(*node.op) != nullptr &&
                 inner_stacks_.contains(node.inputs[0])) {
        inner_stacks_.insert(node.outputs.begin(), node.outputs.end());
      }
    }
  }
  /// The node of the body that computes v; none if there is none.
  NodeId maker(ValueId v) const { return is_of_trip(v) ? g_.value(v).producer : NodeId::none; }
  bool is_stacked_as_here(std::size_t k) const {
    return parts().axis_out[k] == 0 && parts().reverse_out[k] != 0 && !parts().has_extent(k);
  }

  bool adds_or_converts_floats(const Node& n) const {
    return n.op->name == "add" ||
           (n.op->name == "convert" && is_float(g_.value(n.inputs[0]).type.dtype()));
  }
  /// Collects the terms of a chain of additions. Of floats that are converted to the dtype of the
  /// sum, it collects what is converted.
  void collect_terms(ValueId v, std::vector<ValueId>& terms) const {
    const NodeId n = maker(v);
    if (n == NodeId::none || !adds_or_converts_floats(g_.node(n)) || g_.value(v).uses.size() != 1) {
      terms.push_back(v);
      return;
    }
    for (const ValueId x : g_.node(n).inputs) collect_terms(x, terms);
  }

  /// The sum of a term over all trips; none if one call cannot compute it.
  ValueId summed_behind(ValueId term) {
    const NodeId n = maker(term);
    if (n == NodeId::none || !g_.node(n).op->batched_sum || g_.value(term).uses.size() != 1)
      return ValueId::none;
    const auto operands = stacked_operands(n);
    if (!operands) return ValueId::none;
    const std::vector<ValueId> y = g_.node(n).op->batched_sum(b_, g_.node(n), *operands);
    return y.empty() ? ValueId::none : y[0];
  }

  bool reads_captured_tensor(const Node& n) const {
    return std::ranges::any_of(n.inputs, [this](ValueId v) {
      return v != ValueId::none && !is_of_trip(v) &&
             !(g_.value(v).type.has_rank() && g_.value(v).type.rank() == 0);
    });
  }

  /// The operands of a call for all trips. Nullopt if no operand varies with the trip, or if an
  /// operand cannot be stacked or is an invariant computed in the body. An operand that is a stack
  /// of an inner loop is not stacked either: the call covers many trips already, and stacking would
  /// keep the values of both loops at once.
  std::optional<std::vector<Batch>> stacked_operands(NodeId n) {
    const std::vector<ValueId> inputs = g_.node(n).inputs;
    const auto of_trip = [this](ValueId v) { return v != ValueId::none && is_of_trip(v); };
    if (std::ranges::none_of(inputs, of_trip)) return std::nullopt;
    for (const ValueId v : inputs)
      if (of_trip(v) &&
          (invariants_.contains(v) || inner_stacks_.contains(v) || !passes::keeps_shape(types_, v)))
        return std::nullopt;
    std::vector<Batch> operands;
    for (const ValueId v : inputs)
      operands.push_back(of_trip(v) ? Batch{stack_of(v), true} : Batch{v, false});
    return operands;
  }

  /// A stack of the values of v in all trips: an existing one if there is one.
  ValueId stack_of(ValueId v) {
    const std::size_t first = 2 + parts().states;
    for (std::size_t k = 0; k < parts().scans; ++k)
      if (body().params[first + k] == v && parts().axis_in[k] == 0 && parts().reverse_in[k] != 0)
        return loop_.scanned(k);
    for (std::size_t k = 0; k < parts().stacks; ++k)
      if (loop_.item(k) == v && is_stacked_as_here(k)) return loop_.stack(k);
    const Type& t = types_.types[ir::index(v)];
    ir::Extents extents = t.extents();
    extents.insert(extents.begin(), ir::Extent());
    made_.push_back(loop_.add_stack(v, 0, true, ValueId::none,
                                    Type::tensor(t.dtype(), std::move(extents)), {}));
    return made_.back();
  }

  ir::Graph& g_;
  ir::Builder& b_;
  NodeId n_;
  ir::LoopEditor loop_;
  const ir::TypeEnvironment types_;
  std::unordered_set<ValueId> invariants_, inner_stacks_;
  std::vector<ValueId> made_;  ///< stacks that were added to the loop
};

}  // namespace

void batch_behind_loop(ir::Builder& behind, NodeId loop, std::size_t first_sum,
                       std::vector<ValueId>& results) {
  BehindLoop batching(behind, loop);
  const LoopParts parts = behind.graph().node(loop).loop();
  const auto set = [&](std::size_t j, ValueId v) {
    if (v != ValueId::none) results[j] = v;
  };
  for (std::size_t k = parts.stacks; k-- > 0;) set(parts.states + k, batching.move_stack(k));
  for (std::size_t s = parts.states; s-- > first_sum;) set(s, batching.move_sum(s));
  batching.remove_unread_stacks();
}

}  // namespace rondel::gradients
