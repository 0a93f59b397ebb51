#include "lowering/verify_storage.h"

#include "base/cancellation.h"
#include "base/error.h"
#include "lowering/memory_contents.h"
#include "lowering/storage_room.h"
#include "lowering/written_storage.h"
#include "ops/meaning.h"

#include <algorithm>
#include <limits>

namespace rondel::lowering {
namespace {

using ir::LoopParts;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

/// The program points at which something happens.
using Points = scalar::Buffer::Lifetime;

/// Goes through the program of a tree once. A loop is proven by induction: at the beginning of each
/// trip its states are in their storages, and what storages hold from outside is still there unless
/// the body may write to them.
class StorageVerifier {
 public:
  StorageVerifier(const RegionTree& tree, const StorageMap& plan)
      : tree_(tree), g_(tree.graph()), plan_(plan), room_(tree), written_(tree, plan),
        contents_(plan.all().size()), node_(tree.top()) {}

  void run() {
    for (StorageId id = 0; id < plan_.all().size(); ++id)
      if (!room_.is_known(plan_.all()[id].type))
        fault("the size of storage {} ({}) does not follow from the class", id,
              to_text(plan_.all()[id].type));
    if (g_.node(tree_.top()).is_loop()) top_loop();
    else top_if();
  }

 private:
  // Regions.

  void region(RegionId r, const LoopParts* loop) {
    inside_.insert(r);
    const auto& groups = tree_.groups(r);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      check_cancellation();
      node_ = groups[i].nodes[0];
      const Points at = points({r, i});
      pass(at.first);
      if (g_.node(node_).regions.empty()) group(groups[i], at, loop);
      else if (g_.node(node_).is_loop()) inner_loop(node_, at);
      else branch(node_, at);
      pass(at.last);
    }
    pass(end_of(r).first);
  }

  Points points(Position p) const { return {tree_.begins(p), tree_.ends(p)}; }
  Points end_of(RegionId r) const { return points({r, tree_.groups(r).size()}); }

  /// The points must be in program order, because lifetimes are intervals of them.
  void pass(std::int32_t point) {
    if (point <= now_) fault("program point {} follows point {}", point, now_);
    now_ = point;
  }

  // Groups.

  /// Where the elements of a value are loaded from.
  struct Source {
    enum Kind { elsewhere, memory, nowhere } kind = elsewhere;
    StorageId storage = 0;
    ValueId held = ValueId::none;  ///< the value that the storage must hold
    bool whole = true;             ///< false: the value is an element of a scan over `held`
  };

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
      if (!storage && ops::writes_buffers(op)) fault("'{}' has no storage", name(v));
      if (!storage) continue;
      if (!results.insert(*storage).second)
        fault("'{}' and another result are both in storage {}", name(v), *storage);
      for (const Operand& operand : operands) check_over(operand, v, *storage);
      put(v, *storage, at);
      if (ops::reads_buffers(op)) check_exact(v, *storage);
    }
    if (loop == nullptr) return;
    for (std::size_t k = 0; k < loop->stacks; ++k)
      if (stored_by_group(group, item(*loop, k))) store_item(*loop, k, at);
  }

  std::vector<Operand> read_operands(const Group& group, Points at) {
    std::vector<Operand> operands;
    for (const NodeId n : group.nodes) {
      const ir::Node& node = g_.node(n);
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        const ValueId v = node.inputs[k];
        if (v == ValueId::none || is_made_by(group, v)) continue;
        const Source from = read(v, at);
        if (from.kind != Source::memory) continue;
        if (ops::reads_buffers(*node.op) && !tree_.is_one_element(v))
          check_exact(from.held, from.storage);
        operands.push_back({n, k, from});
      }
    }
    return operands;
  }

  bool is_made_by(const Group& group, ValueId v) const {
    return std::ranges::count(group.nodes, g_.value(v).producer) > 0;
  }

  /// A result may be written over an operand only if the program reads no element of the operand
  /// after it has written the same element of the result.
  void check_over(const Operand& operand, ValueId result, StorageId storage) {
    if (operand.source.storage != storage) return;
    const ir::Node& node = g_.node(operand.node);
    const ValueId v = node.inputs[operand.number];
    const ir::Type &from = tree_.type(v), &to = tree_.type(result);
    bool in_order = false;
    if (ops::meaning_as<ops::ElementWise>(*node.op) != nullptr)
      in_order = from.extents() == to.extents() &&
                 tree_.type(node.outputs[0]).extents() == to.extents();
    else in_order = std::ranges::count(node.op->in_place, operand.number) > 0 && from == to;
    if (!operand.source.whole || !in_order || node.outputs.size() != 1)
      fault("'{}' is written over '{}' in storage {}, before {} has read it", name(result), name(v),
            storage, ir::where(g_, operand.node));
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
      if (!plan_.all()[id].given) fault("'{}' is not in memory of the caller", name(param));
      if (body.results[1 + s] == param) only_read_.insert(id);
      if (!states_of_top_.insert(id).second)
        fault("'{}' and another state are both in storage {}", name(param), id);
    }
    trips(n, parts);
  }

  void inner_loop(NodeId n, Points at) {
    const ir::Node& node = g_.node(n);
    const LoopParts parts(node);
    const Points start{at.first, at.first};
    room_.visit(n);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const bool scalar = k < parts.states_at() || k >= parts.scans_at() + parts.scans;
      if (scalar) read(node.inputs[k], start);
    }
    begin_states(n, parts, start);
    for (std::size_t k = 0; k < parts.stacks; ++k)
      if (const auto storage = stack(n, parts, k)) put(stack_of(n, parts, k), *storage, start);
    begin_trips(n, parts, at);
    trips(n, parts);
    node_ = n;
    for (std::size_t k = 0; k < parts.stacks; ++k)  // the rows beyond the last item become zero
      if (const auto storage = stack(n, parts, k)) use(stack_of(n, parts, k), *storage, at);
    for (std::size_t s = 0; s < parts.states; ++s)
      if (node.outputs[s] != ValueId::none && !tree_.is_one_element(node.outputs[s]))
        contents_.name(plan_.state(n, s), node.outputs[s]);
  }

  /// Initial states are copied to the storages of their states, one after the other.
  void begin_states(NodeId n, const LoopParts& parts, Points at) {
    const ir::Node& node = g_.node(n);
    const auto initial = [&](std::size_t s) { return node.inputs[parts.states_at() + s]; };
    for (std::size_t s = 0; s < parts.states; ++s)
      if (!tree_.is_one_element(initial(s)) && plan_.storage_of(initial(s)) != plan_.state(n, s))
        copy(initial(s), plan_.state(n, s), at);
    for (std::size_t s = 0; s < parts.states; ++s)
      if (tree_.is_one_element(initial(s))) read(initial(s), at);
      else check_held(initial(s), plan_.state(n, s), at);
  }

  /// What storages hold from outside of a loop, they hold in all trips unless the body writes to
  /// them or they do not live as long as the body.
  void begin_trips(NodeId n, const LoopParts& parts, Points at) {
    for (const auto& [storage, by] : written_.in_trips(n)) contents_.lose(storage, by);
    const Points whole{at.first, end_of(parts.body).last};
    for (StorageId id = 0; id < plan_.all().size(); ++id)
      if (!lives(id, whole)) contents_.lose(id);
  }

  /// Proves one trip, after which everything is as at its beginning. Leaves `contents_` as it is
  /// before any trip, which holds after all trips, too.
  void trips(NodeId n, const LoopParts& parts) {
    const MemoryContents outside = contents_;
    const ir::Region& body = g_.region(parts.body);
    const Points first = points({parts.body, 0}), start{first.first, first.first};
    inside_.insert(parts.body);
    for (std::size_t s = 0; s < parts.states; ++s)
      if (const ValueId v = body.params[2 + s]; !tree_.is_one_element(v)) {
        check_room(v, plan_.state(n, s));
        contents_.name(plan_.state(n, s), v);
      }
    for (std::size_t s = 0; s < parts.scans; ++s)
      if (const ValueId v = body.params[2 + parts.states + s]; const auto block = plan_.copy(v)) {
        read_source(v, scanned(v), start);
        put(v, *block, start);
      }
    region(parts.body, &parts);
    node_ = n;
    end_trip(n, parts);
    if (!contents_.includes(outside)) fault("the verifier misses what the body writes");
    contents_ = outside;
  }

  void end_trip(NodeId n, const LoopParts& parts) {
    const Points at = end_of(parts.body);
    const ir::Region& body = g_.region(parts.body);
    for (std::size_t k = 0; k < parts.stacks; ++k)
      if (const ValueId v = item(parts, k); is_stacked(n, parts, k) && !stored_by_group(parts, v)) {
        read(v, at);
        store_item(parts, k, at);
      }
    read(body.results[0], at);
    for (std::size_t s = 0; s < parts.states; ++s)
      if (tree_.is_one_element(body.params[2 + s])) read(body.results[1 + s], at);
    move_states(n, parts, at);
    for (std::size_t s = 0; s < parts.states; ++s)
      if (!tree_.is_one_element(body.params[2 + s]))
        check_held(body.results[1 + s], plan_.state(n, s), at);
    for (std::size_t k = 0; k < parts.stacks; ++k)
      if (const auto storage = stack(n, parts, k)) check_held(stack_of(n, parts, k), *storage, at);
  }

  /// Next states that are not where their states are get there one after the other. Those that are
  /// states themselves are copied aside before, if the plan says so.
  void move_states(NodeId n, const LoopParts& parts, Points at) {
    const ir::Region& body = g_.region(parts.body);
    std::vector<std::size_t> moved;
    for (std::size_t s = 0; s < parts.states; ++s) {
      const ValueId next = body.results[1 + s], param = body.params[2 + s];
      if (!tree_.is_one_element(param) && next != param &&
          plan_.storage_of(next) != plan_.storage_of(param))
        moved.push_back(s);
    }
    const auto states = std::span(body.params).subspan(2, parts.states);
    for (const std::size_t s : moved) {
      const ValueId next = body.results[1 + s];
      if (const auto aside = plan_.copy(next); aside && std::ranges::count(states, next) > 0)
        copy(next, *aside, at);
    }
    for (const std::size_t s : moved) {
      const ValueId next = body.results[1 + s];
      if (const auto aside = plan_.copy(next)) {
        check_held(next, *aside, at);
        copy_from(*aside, next, plan_.state(n, s), at);
      } else {
        copy(next, plan_.state(n, s), at);
      }
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
    if (const auto storage = stack(n, parts, k)) check_held(stack_of(n, parts, k), *storage, at);
  }

  // Branches.

  void top_if() {
    const ir::Node& node = g_.node(tree_.top());
    for (const ValueId v : node.outputs)
      if (v != ValueId::none && !tree_.is_one_element(v))
        if (const auto storage = plan_.storage_of(v); !storage || !plan_.all()[*storage].given)
          fault("'{}' is not in memory of the caller", name(v));
    branch(tree_.top(), {});
    for (const ValueId v : node.outputs)
      if (v != ValueId::none && !tree_.is_one_element(v)) check_held(v, *plan_.storage_of(v), {});
  }

  void branch(NodeId n, Points at) {
    read(g_.node(n).inputs[0], {at.first, at.first});
    const MemoryContents before = contents_;
    std::optional<MemoryContents> after;
    for (const RegionId r : tree_.regions(n)) {
      contents_ = before;
      region(r, nullptr);
      node_ = n;
      end_branch(n, r);
      contents_.leave(g_, r);
      if (after) after->join(contents_);
      else after = contents_;
    }
    contents_ = *after;
  }

  /// The results of a branch that are not where the outputs are get there one after the other.
  void end_branch(NodeId n, RegionId r) {
    const Points at = end_of(r);
    const std::vector<ValueId> outputs(g_.node(n).outputs.begin(), g_.node(n).outputs.end());
    const auto& results = g_.region(r).results;
    const auto in_memory = [&](ValueId v) {
      return v != ValueId::none && !tree_.is_one_element(v) && plan_.storage_of(v);
    };
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      const ValueId v = outputs[j];
      if (in_memory(v) && plan_.storage_of(results[j]) != plan_.storage_of(v))
        copy(results[j], *plan_.storage_of(v), at);
      else if (v != ValueId::none && tree_.is_one_element(v)) read(results[j], at);
    }
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      if (!in_memory(outputs[j])) continue;
      const StorageId storage = *plan_.storage_of(outputs[j]);
      check_held(results[j], storage, at);
      check_room(outputs[j], storage);
      contents_.name(storage, outputs[j]);
    }
  }

  // Values in memory.

  /// Where a value is loaded from when it is read.
  Source source(ValueId v) const {
    const ir::ValueInfo& info = g_.value(v);
    if (!inside_.contains(info.region) || g_.constant(v) != nullptr) return {};
    const bool param = info.producer == NodeId::none;
    const auto at = static_cast<std::size_t>(info.position);
    const NodeId n = param ? g_.region(info.region).parent : info.producer;
    const ir::Node& node = g_.node(n);
    if (node.is_loop()) {
      const LoopParts parts(node);
      if (param && at >= 2 + parts.states) return element_source(v);
      const bool state = param ? at >= 2 : at < parts.states;
      if (state && !tree_.is_one_element(v))
        return {Source::memory, plan_.state(n, param ? at - 2 : at), v};
      const bool stack = !param && at >= parts.states && at < parts.states + parts.stacks;
      if (!stack) return {};  // in a register
    } else if (tree_.is_one_element(v)) {
      return {};
    }
    const auto storage = plan_.storage_of(v);
    if (!storage) return {Source::nowhere};
    return {Source::memory, *storage, v};
  }

  Source element_source(ValueId element) const {
    if (const auto block = plan_.copy(element)) return {Source::memory, *block, element};
    return scanned(element);
  }

  /// The source of the whole that a scan's element is a part of. Its rows are read in place.
  Source scanned(ValueId element) const {
    const ir::ValueInfo& info = g_.value(element);
    const NodeId n = g_.region(info.region).parent;
    if (n == tree_.top()) return {};
    const LoopParts parts(g_.node(n));
    const auto scan = static_cast<std::size_t>(info.position) - 2 - parts.states;
    Source from = source(g_.node(n).inputs[parts.scans_at() + scan]);
    from.whole = false;
    return from;
  }

  Source read(ValueId v, Points at) {
    const Source from = source(v);
    read_source(v, from, at);
    return from;
  }

  void read_source(ValueId v, const Source& from, Points at) {
    if (from.kind == Source::nowhere) fault("'{}' is read, but stored nowhere", name(v));
    if (from.kind == Source::memory) check_held(from.held, from.storage, at);
  }

  void check_held(ValueId v, StorageId id, Points at) {
    use(v, id, at);
    if (!contents_.holds(id, v))
      fault("'{}' is read from storage {}, which holds {}", name(v), id, contents_.text(g_, id));
  }

  /// Writes a value that is computed.
  void put(ValueId v, StorageId to, Points at) {
    check_writable(v, to, at);
    contents_.write(to, v);
  }

  void copy(ValueId v, StorageId to, Points at) {
    const Source from = read(v, at);
    if (from.kind == Source::memory && from.whole) return copy_from(from.storage, v, to, at);
    put(v, to, at);
  }

  void copy_from(StorageId from, ValueId v, StorageId to, Points at) {
    check_writable(v, to, at);
    contents_.copy(from, to, v);
  }

  void check_writable(ValueId v, StorageId to, Points at) {
    use(v, to, at);
    check_room(v, to);
    if (only_read_.contains(to))
      fault("'{}' is written to storage {}, which may only be read", name(v), to);
  }

  bool lives(StorageId id, Points at) const {
    const Storage& s = plan_.all()[id];
    return s.given || (s.lifetime.first <= at.first && at.last <= s.lifetime.last);
  }

  void use(ValueId v, StorageId id, Points at) const {
    const Points life = plan_.all()[id].lifetime;
    if (!lives(id, at))
      fault("'{}' is in storage {} at program points {} to {}, but the storage lives from {} to {}",
            name(v), id, at.first, at.last, life.first, life.last);
  }

  void check_room(ValueId v, StorageId id) const {
    const ir::Type& room = plan_.all()[id].type;
    if (!room_.fits(v, room))
      fault("storage {} ({}) has no room for '{}' ({})", id, to_text(room), name(v),
            to_text(tree_.type(v)));
  }

  /// Kernels and products take a whole storage for the value.
  void check_exact(ValueId v, StorageId id) const {
    const ir::Type& room = plan_.all()[id].type;
    if (!room_.is_exact(v, room))
      fault("'{}' ({}) is used as a whole, but storage {} is {}", name(v), to_text(tree_.type(v)),
            id, to_text(room));
  }

  const std::string& name(ValueId v) const { return g_.value(v).name; }

  template <class... Args>
  [[noreturn]] void fault(fmt::format_string<Args...> text, Args&&... args) const {
    throw_error_at(Blame::internal, ir::where(g_, node_),
                   "storage plan: " + fmt::format(text, std::forward<Args>(args)...));
  }

  const RegionTree& tree_;
  const ir::Graph& g_;
  const StorageMap& plan_;
  StorageRoom room_;
  WrittenStorage written_;
  MemoryContents contents_;
  std::set<RegionId> inside_;  ///< the regions that have been entered
  std::set<StorageId> only_read_, states_of_top_;
  NodeId node_;  ///< what runs, for errors
  std::int32_t now_ = -1;
};

}  // namespace

void verify_storage(const RegionTree& tree, const StorageMap& plan) {
  StorageVerifier(tree, plan).run();
}

}  // namespace rondel::lowering
