#include "lowering/verify_storage.h"

#include "base/cancellation.h"
#include "lowering/checked_memory.h"
#include "lowering/written_storage.h"
#include "ops/meaning.h"

#include <algorithm>

namespace rondel::lowering {
namespace {

using ir::LoopParts;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

/// Goes through the program of a tree once. A loop is proven by induction: at the beginning of each
/// trip its states are in their storages, and what storages hold from outside is still there unless
/// the body may write to them.
class StorageVerifier {
 public:
  StorageVerifier(const RegionTree& tree, const StorageMap& plan)
      : tree_(tree), g_(tree.graph()), plan_(plan), memory_(tree, plan), written_(tree, plan) {}

  void run() {
    memory_.check_sizes();
    if (g_.node(tree_.top()).is_loop()) top_loop();
    else top_if();
  }

 private:
  // Regions.

  void region(RegionId r, const LoopParts* loop) {
    memory_.enter(r);
    const auto& groups = tree_.groups(r);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      check_cancellation();
      const NodeId n = groups[i].nodes[0];
      memory_.set_node(n);
      const Points at = points({r, i});
      pass(at.first);
      if (g_.node(n).regions.empty()) group(groups[i], at, loop);
      else if (g_.node(n).is_loop()) inner_loop(n, at);
      else branch(n, at);
      pass(at.last);
    }
    pass(end_of(r).first);
  }

  Points points(Position p) const { return {tree_.begins(p), tree_.ends(p)}; }
  Points end_of(RegionId r) const { return points({r, tree_.groups(r).size()}); }

  /// The points must be in program order, because lifetimes are intervals of them.
  void pass(std::int32_t point) {
    if (point <= now_) memory_.fault("program point {} follows point {}", point, now_);
    now_ = point;
  }

  // Groups.

  /// One operand of a node of a group that is not computed in the group.
  struct Operand {
    NodeId node;
    std::size_t number;
    Source source;
  };

  /// `loop`: the loop whose body contains the group directly.
  void group(const Group& group, Points at, const LoopParts* loop) {
    const ir::OpDef& op = *g_.node(group.nodes[0]).op;
    const std::vector<Operand> operands = read_operands(group, at);
    std::set<StorageId> results;
    for (const ValueId v : group.outputs) {
      if (!written_.is_stored(group, v)) continue;
      const auto storage = plan_.storage_of(v);
      if (!storage && ops::writes_buffers(op))
        memory_.fault("'{}' has no storage", memory_.name(v));
      if (!storage) continue;
      if (!results.insert(*storage).second)
        memory_.fault("'{}' and another result are both in storage {}", memory_.name(v), *storage);
      if (is_beginning_in_place(group, operands, *storage)) {
        memory_.check_room(v, *storage);
        memory_.contents().name(*storage, v);
        continue;
      }
      for (const Operand& operand : operands) check_over(group, operand, v, *storage);
      if (extends_in_place(op, operands, *storage))
        memory_.extend(v, g_.node(group.nodes[0]).inputs[*op.extends], *storage, at);
      else memory_.put(v, *storage, at);
      if (takes_whole_storage(op, v)) memory_.check_exact(v, *storage);
    }
    if (loop == nullptr) return;
    for (std::size_t k = 0; k < loop->stacks; ++k)
      if (stored_by_group(group, item(*loop, k))) store_item(*loop, k, at);
  }

  std::vector<Operand> read_operands(const Group& group, Points at) {
    std::vector<Operand> operands;
    for (const NodeId n : group.nodes) {
      const ir::Node& node = g_.node(n);
      if (node.op->reads_extents_only) continue;
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        const ValueId v = node.inputs[k];
        if (v == ValueId::none || is_made_by(group, v)) continue;
        const Source from = memory_.read(v, at);
        if (from.kind != Source::memory) continue;
        if (takes_whole_storage(*node.op, v) && !tree_.is_one_element(v)) {
          if (from.whole) memory_.check_exact(from.held, from.storage);
          else memory_.check_row(v, from.storage);
        }
        operands.push_back({n, k, from});
      }
    }
    return operands;
  }

  /// Whether the op takes the extents of a value from its storage. It is told those that become
  /// known inside.
  bool takes_whole_storage(const ir::OpDef& op, ValueId v) const {
    return ops::reads_buffers(op) && tree_.extents_known(v);
  }

  /// Whether the program of the op finds the input that it extends in the storage of its result.
  static bool extends_in_place(const ir::OpDef& op, const std::vector<Operand>& operands,
                               StorageId storage) {
    return op.extends && std::ranges::any_of(operands, [&](const Operand& operand) {
             return operand.number == *op.extends && operand.source.storage == storage &&
                    operand.source.whole;
           });
  }

  /// Whether the result is the beginning of what is in its storage: nothing is written.
  bool is_beginning_in_place(const Group& group, const std::vector<Operand>& operands,
                             StorageId storage) const {
    const ValueId whole = tree_.beginning_in(group);
    return std::ranges::any_of(operands, [&](const Operand& operand) {
      return operand.number == 0 && operand.source.held == whole && operand.source.whole &&
             operand.source.storage == storage;
    });
  }

  bool is_made_by(const Group& group, ValueId v) const {
    return std::ranges::count(group.nodes, g_.value(v).producer) > 0;
  }

  /// A result may be written over an operand only if the program reads no element of the operand
  /// after it has written the same element of the result.
  void check_over(const Group& group, const Operand& operand, ValueId result, StorageId storage) {
    if (operand.source.storage != storage) return;
    const ir::Node &node = g_.node(operand.node), &first = g_.node(group.nodes[0]);
    const ValueId v = node.inputs[operand.number];
    // Only what follows the operand is written, whichever node of the group reads it.
    if (first.op->extends && v == first.inputs[*first.op->extends] && operand.source.whole) return;
    const ir::Type &from = tree_.type(v), &to = tree_.type(result);
    bool in_order = false;
    if (group.by_rows) in_order = is_read_first(tree_.rows(group), operand, result);
    else if (ops::meaning_as<ops::ElementWise>(*node.op) != nullptr)
      in_order = from.extents() == to.extents() &&
                 tree_.type(node.outputs[0]).extents() == to.extents();
    else in_order = std::ranges::count(node.op->in_place, operand.number) > 0 && from == to;
    if (!operand.source.whole || !in_order || node.outputs.size() != 1)
      memory_.fault("'{}' is written over '{}' in storage {}, before {} has read it",
                    memory_.name(result), memory_.name(v), storage, ir::where(g_, operand.node));
  }

  /// Whether a row's elements of the operand are read before a value is written in their place, or
  /// each by the stage that writes it. Elements that are in registers are written last.
  bool is_read_first(const RowSchedule& rows, const Operand& operand, ValueId result) const {
    const auto in_row = [&](ValueId v) { return tree_.type(v).extents() == rows.space; };
    if (!in_row(g_.node(operand.node).inputs[operand.number]) || !in_row(result)) return false;
    const std::optional<std::size_t> reads = rows.stage_of(operand.node);
    for (const auto& [v, memory] : rows.memory_of)
      if (memory == result && rows.stage_of(g_.value(v).producer) < reads) return false;
    const std::optional<std::size_t> writes = rows.stage_of(g_.value(result).producer);
    return reads && writes && (rows.in_registers || *reads <= *writes);
  }

  // Loops.

  void top_loop() {
    const NodeId n = tree_.top();
    const LoopParts parts(g_.node(n));
    const ir::Region& body = g_.region(parts.body);
    for (std::size_t s = 0; s < parts.states; ++s) {
      const ValueId param = body.params[2 + s];
      if (tree_.is_one_element(param)) continue;
      const StorageId id = plan_.state(n, s);
      // Between two chunks of trips, only the memory of the caller is kept.
      if (!plan_.all()[id].given)
        memory_.fault("'{}' is not in memory of the caller", memory_.name(param));
      if (body.results[1 + s] == param) memory_.forbid_writes(id);
      if (!states_of_top_.insert(id).second)
        memory_.fault("'{}' and another state are both in storage {}", memory_.name(param), id);
    }
    memory_.room().visit(n);
    trips(n, parts);
  }

  void inner_loop(NodeId n, Points at) {
    const ir::Node& node = g_.node(n);
    const LoopParts parts(node);
    const Points start{at.first, at.first};
    memory_.room().visit(n);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const bool scalar = k < parts.states_at() || k >= parts.scans_at() + parts.scans;
      if (scalar) memory_.read(node.inputs[k], start);
    }
    begin_states(n, parts, start);
    for (std::size_t k = 0; k < parts.stacks; ++k)
      if (const auto storage = stack(n, parts, k))
        memory_.put(stack_of(n, parts, k), *storage, start);
    begin_trips(n, parts, at);
    trips(n, parts);
    memory_.set_node(n);
    for (std::size_t k = 0; k < parts.stacks; ++k)  // the rows beyond the last item become zero
      if (const auto storage = stack(n, parts, k))
        memory_.check_lives(stack_of(n, parts, k), *storage, at);
    for (std::size_t s = 0; s < parts.states; ++s)
      if (node.outputs[s] != ValueId::none && !tree_.is_one_element(node.outputs[s]))
        memory_.contents().name(plan_.state(n, s), node.outputs[s]);
  }

  /// Initial states are copied to the storages of their states, one after the other.
  void begin_states(NodeId n, const LoopParts& parts, Points at) {
    const ir::Node& node = g_.node(n);
    const auto initial = [&](std::size_t s) { return node.inputs[parts.states_at() + s]; };
    const auto in_register = [&](std::size_t s) {
      return tree_.is_one_element(g_.region(parts.body).params[2 + s]);
    };
    for (std::size_t s = 0; s < parts.states; ++s)
      if (!in_register(s) && plan_.storage_of(initial(s)) != plan_.state(n, s))
        memory_.copy(initial(s), plan_.state(n, s), at);
    for (std::size_t s = 0; s < parts.states; ++s)
      if (in_register(s)) memory_.read(initial(s), at);
      else memory_.check_held(initial(s), plan_.state(n, s), at);
  }

  /// What storages hold from outside of a loop, they hold in all trips unless the body writes to
  /// them or they do not live as long as the body.
  void begin_trips(NodeId n, const LoopParts& parts, Points at) {
    for (const auto& [storage, by] : written_.in_trips(n)) memory_.contents().lose(storage, by);
    const Points whole{at.first, end_of(parts.body).last};
    for (StorageId id = 0; id < plan_.all().size(); ++id)
      if (!memory_.lives(id, whole)) memory_.contents().lose(id);
  }

  /// Proves one trip, after which everything is as at its beginning. Leaves the contents as they
  /// are before any trip, which holds after all trips, too.
  void trips(NodeId n, const LoopParts& parts) {
    const MemoryContents outside = memory_.contents();
    const ir::Region& body = g_.region(parts.body);
    const Points first = points({parts.body, 0}), start{first.first, first.first};
    memory_.enter(parts.body);
    for (std::size_t s = 0; s < parts.states; ++s)
      if (const ValueId v = body.params[2 + s]; !tree_.is_one_element(v)) {
        memory_.check_room(v, plan_.state(n, s));
        memory_.contents().name(plan_.state(n, s), v);
      }
    for (std::size_t s = 0; s < parts.scans; ++s)
      if (const ValueId v = body.params[2 + parts.states + s]; const auto block = plan_.copy(v)) {
        memory_.read_from(memory_.scanned(v), v, start);
        memory_.put(v, *block, start);
      }
    region(parts.body, &parts);
    memory_.set_node(n);
    end_trip(n, parts);
    if (!memory_.contents().includes(outside))
      memory_.fault("the verifier misses what the body writes");
    memory_.contents() = outside;
  }

  void end_trip(NodeId n, const LoopParts& parts) {
    const Points at = end_of(parts.body);
    const ir::Region& body = g_.region(parts.body);
    for (std::size_t k = 0; k < parts.stacks; ++k)
      if (const ValueId v = item(parts, k); is_stacked(n, parts, k) && !stored_by_group(parts, v)) {
        memory_.read(v, at);
        store_item(parts, k, at);
      }
    memory_.read(body.results[0], at);
    for (std::size_t s = 0; s < parts.states; ++s)
      if (tree_.is_one_element(body.params[2 + s])) memory_.read(body.results[1 + s], at);
    move_states(n, parts, at);
    for (std::size_t s = 0; s < parts.states; ++s)
      if (!tree_.is_one_element(body.params[2 + s]))
        memory_.check_held(body.results[1 + s], plan_.state(n, s), at);
    for (std::size_t k = 0; k < parts.stacks; ++k)
      if (const auto storage = stack(n, parts, k))
        memory_.check_held(stack_of(n, parts, k), *storage, at);
  }

  /// Next states that are not where their states are get there.
  void move_states(NodeId n, const LoopParts& parts, Points at) {
    const ir::Region& body = g_.region(parts.body);
    Moves moves;
    for (std::size_t s = 0; s < parts.states; ++s) {
      const ValueId next = body.results[1 + s], param = body.params[2 + s];
      if (!tree_.is_one_element(param) && next != param &&
          plan_.storage_of(next) != plan_.storage_of(param))
        moves.emplace_back(next, plan_.state(n, s));
    }
    move(moves, parts.body, at);
  }

  /// Results of a region that are copied get to their places one after the other. Those of the
  /// region's own values that have a copy are copied aside before.
  using Moves = std::vector<std::pair<ValueId, StorageId>>;
  void move(const Moves& moves, RegionId r, Points at) {
    const auto aside = [&](ValueId v) {
      return g_.value(v).region == r && plan_.storage_of(v) ? plan_.copy(v) : std::nullopt;
    };
    for (const auto& [v, _] : moves)
      if (aside(v)) memory_.copy(v, *aside(v), at);
    for (const auto& [v, to] : moves) {
      const auto block = aside(v);
      if (block) memory_.check_held(v, *block, at);
      if (block) memory_.copy_from(*block, v, to, at);
      else memory_.copy(v, to, at);
    }
  }

  // Stacks and their items.

  ValueId item(const LoopParts& parts, std::size_t k) const {
    return g_.region(parts.body).results[1 + parts.states + k];
  }
  ValueId stack_of(NodeId n, const LoopParts& parts, std::size_t k) const {
    return g_.node(n).outputs[parts.states + k];
  }
  /// The storage of a stack; nullopt if nothing reads it, and for the top node, whose stacks are
  /// not in the plan.
  std::optional<StorageId> stack(NodeId n, const LoopParts& parts, std::size_t k) const {
    const ValueId v = stack_of(n, parts, k);
    return n == tree_.top() || v == ValueId::none ? std::nullopt : plan_.storage_of(v);
  }
  bool is_stacked(NodeId n, const LoopParts& parts, std::size_t k) const {
    return n == tree_.top() || stack(n, parts, k);
  }

  /// Whether the group that computes an item stores it to the stack, element by element.
  bool stored_by_group(const Group& group, ValueId v) const {
    return group.program && std::ranges::count(group.outputs, v) > 0 && !tree_.is_one_element(v) &&
           !ops::writes_buffers(*g_.node(group.nodes[0]).op);
  }
  bool stored_by_group(const LoopParts& parts, ValueId v) const {
    return std::ranges::any_of(tree_.groups(parts.body),
                               [&](const Group& group) { return stored_by_group(group, v); });
  }

  /// An item goes to its row of the stack; the other rows must still be there.
  void store_item(const LoopParts& parts, std::size_t k, Points at) {
    const NodeId n = g_.region(parts.body).parent;
    if (const auto storage = stack(n, parts, k))
      memory_.check_held(stack_of(n, parts, k), *storage, at);
  }

  // Branches.

  void top_if() {
    const ir::Node& node = g_.node(tree_.top());
    for (const ValueId v : node.outputs)
      if (v != ValueId::none && !tree_.is_one_element(v))
        if (const auto storage = plan_.storage_of(v); !storage || !plan_.all()[*storage].given)
          memory_.fault("'{}' is not in memory of the caller", memory_.name(v));
    branch(tree_.top(), {});
    for (const ValueId v : node.outputs)
      if (v != ValueId::none && !tree_.is_one_element(v))
        memory_.check_held(v, *plan_.storage_of(v), {});
  }

  void branch(NodeId n, Points at) {
    memory_.read(g_.node(n).inputs[0], {at.first, at.first});
    const MemoryContents before = memory_.contents();
    std::optional<MemoryContents> after;
    for (const RegionId r : tree_.regions(n)) {
      memory_.contents() = before;
      region(r, nullptr);
      memory_.set_node(n);
      end_branch(n, r);
      memory_.contents().leave(g_, r);
      if (after) after->join(memory_.contents());
      else after = memory_.contents();
    }
    memory_.contents() = *after;
    // Not before: what bounds an extent of an output is in both branches.
    for (const ValueId v : g_.node(n).outputs)
      if (v != ValueId::none && !tree_.is_one_element(v))
        if (const auto storage = plan_.storage_of(v)) memory_.check_room(v, *storage);
  }

  /// The results of a branch that are not where the outputs are get there.
  void end_branch(NodeId n, RegionId r) {
    const Points at = end_of(r);
    const std::vector<ValueId> outputs(g_.node(n).outputs.begin(), g_.node(n).outputs.end());
    const auto& results = g_.region(r).results;
    const auto in_memory = [&](ValueId v) {
      return v != ValueId::none && !tree_.is_one_element(v) && plan_.storage_of(v);
    };
    Moves moves;
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      const ValueId v = outputs[j];
      if (in_memory(v) && plan_.storage_of(results[j]) != plan_.storage_of(v))
        moves.emplace_back(results[j], *plan_.storage_of(v));
      else if (v != ValueId::none && tree_.is_one_element(v)) memory_.read(results[j], at);
    }
    move(moves, r, at);
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      if (!in_memory(outputs[j])) continue;
      const StorageId storage = *plan_.storage_of(outputs[j]);
      memory_.check_held(results[j], storage, at);
      memory_.contents().name(storage, outputs[j]);
    }
  }

  const RegionTree& tree_;
  const ir::Graph& g_;
  const StorageMap& plan_;
  CheckedMemory memory_;
  WrittenStorage written_;
  std::set<StorageId> states_of_top_;
  std::int32_t now_ = -1;  ///< the last program point
};

}  // namespace

void verify_storage(const RegionTree& tree, const StorageMap& plan) {
  StorageVerifier(tree, plan).run();
}

}  // namespace rondel::lowering
