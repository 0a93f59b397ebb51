// One class, because lowering a loop is one walk with one set of decisions about where values live.
#include "base/error.h"
#include "base/look.h"
#include "ops/reading_view.h"
#include "passes/extract.h"
#include "passes/lower.h"
#include "passes/lower_nodes.h"

#include <algorithm>
#include <set>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::LoopParts;
using ir::NodeId;
using ir::ValueId;
using scalar::Access;
using scalar::Ex;
using scalar::Indices;
using Kind = scalar::LoopBinding;

/// Why a loop is not lowered whole; caught here and told as the reason.
struct NotWhole {
  std::string reason;
};

template <class... Args>
[[noreturn]] void not_whole(fmt::format_string<Args...> text, Args&&... args) {
  throw NotWhole{fmt::format(text, std::forward<Args>(args)...)};
}

/// Temporaries of known extents up to this size are the program's own arrays.
constexpr std::int64_t most_local_bytes = 4096;

class LoopLowering {
 public:
  LoopLowering(const Graph& g, NodeId n, const ShapeClass& c, bool fuse)
      : g_(g), id_(n), node_(g.node(n)), parts_(node_), body_(g.region(parts_.body)), class_(c),
        b_(ir::where(g, n)) {
    infer(n);
    groups_ = group_nodes(g, parts_.body, k_.types, fuse);
    check_groups();
    decide_storage();
  }

  LoweredLoop run() {
    declare_parameters();
    const Ex from = b_.param(), to = b_.param();
    trips_ = b_.param();
    declare_locals();
    enter();
    write_loop(from, to);
    out_.program = b_.finish();
    return std::move(out_);
  }

 private:
  // What is known before the program is written.

  void infer(NodeId n) {
    k_ = ir::knowledge_of(g_);
    k_.name_unknowns = true;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i)
      k_.types[ir::index(node_.inputs[i])] = class_.types[i];
    for (const ValueId v : g_.captures(parts_.body)) {
      if (const Tensor* t = g_.constant(v)) {
        k_.values[static_cast<std::int32_t>(v)] = *t;
      } else {
        const std::size_t at = node_.inputs.size() + captures_.size();
        k_.types[ir::index(v)] = class_.types[at];
        if (!class_.elements[at].empty()) know_list(v, class_.elements[at]);
        captures_.push_back(v);
      }
    }
    ir::infer_node(g_, n, k_);
    for (std::size_t s = 0; s < parts_.states; ++s)
      if (!(type(state(s)) == class_.types[parts_.states_at() + s]) ||
          !(type(body_.results[1 + s]) == type(state(s))))
        not_whole("state '{}' changes its shape", g_.value(state(s)).name);
  }

  void know_list(ValueId v, const ir::Extents& elements) {
    k_.elements[static_cast<std::int32_t>(v)] = {elements.begin(), elements.end()};
    if (!std::ranges::all_of(elements, &ir::Extent::known)) return;
    ir::Ints numbers;
    for (const ir::Extent& e : elements) numbers.push_back(e.value);
    const Shape shape = type(v).rank() == 0 ? Shape{} : Shape{std::ssize(numbers)};
    k_.values[static_cast<std::int32_t>(v)] = Tensor::from<std::int64_t>(
        shape, std::span<const std::int64_t>(numbers));
  }

  void check_groups() {
    for (const Group& group : groups_) {
      const ir::Node& first = g_.node(group.nodes[0]);
      if (!group.program) not_whole("{} is no scalar program", ir::where(g_, group.nodes[0]));
      for (const NodeId n : group.nodes) check_values(n);
      for (const NodeId n : group.nodes)
        for (const ValueId v : g_.node(n).outputs)
          if (v != ValueId::none) check_type(v);
      if (ops::meaning_as<ops::Nest>(*first.op) != nullptr) {
        for (const ValueId v : first.inputs)
          if (v != ValueId::none) in_buffer_.insert(v);
        for (const ValueId v : first.outputs) in_buffer_.insert(v);
      }
    }
    for (const ValueId v : body_.params) check_type(v);
    for (const ValueId v : captures_) check_type(v);
  }

  /// Operands whose values types depend on must be known, or be extents of the class: those are
  /// looked at before each run.
  void check_values(NodeId n) const {
    const ir::Node& node = g_.node(n);
    const auto among = [](const std::vector<std::size_t>& list, std::size_t k) {
      return std::ranges::count(list, k) > 0;
    };
    for (const std::size_t k : node.op->value_inputs) {
      const ValueId v = k < node.inputs.size() ? node.inputs[k] : ValueId::none;
      if (v == ValueId::none || k_.value(v) != nullptr) continue;
      const auto* reading = ops::meaning_as<ops::ReadingView>(*node.op);
      if (reading != nullptr && among(reading->reads, k)) continue;
      if (among(node.op->program_values, k) || !is_extents(v))
        not_whole("{} depends on the value of an input", ir::where(g_, n));
    }
  }
  bool is_extents(ValueId v) const {
    const auto list = k_.elements.find(static_cast<std::int32_t>(v));
    return list != k_.elements.end() && std::ranges::all_of(list->second, [&](const auto& e) {
             return e.known() || class_symbol(e);
           });
  }

  void check_type(ValueId v) const {
    const ir::Type& t = type(v);
    if (!t.is_tensor() || !t.has_rank() || t.dtype() == DType::string || t.dtype() == DType::c128)
      not_whole("'{}' is {}", g_.value(v).name, to_text(t));
  }

  /// Which next states are written where the old ones stand: those that no one reads any more when,
  /// or but for the element that is, written.
  void decide_storage() {
    for (std::size_t s = 0; s < parts_.states; ++s) {
      const ValueId next = body_.results[1 + s];
      if (carried(s) || single(next) || next == state(s) || in_place_.contains(next)) continue;
      const auto maker = maker_of(next);
      if (maker && free_at(s, *maker)) in_place_[next] = s;
    }
  }

  std::optional<std::size_t> maker_of(ValueId v) const {
    for (std::size_t i = 0; i < groups_.size(); ++i)
      for (const NodeId n : groups_[i].nodes)
        for (const ValueId made : g_.node(n).outputs)
          if (made == v) return i;
    return std::nullopt;
  }

  bool free_at(std::size_t s, std::size_t maker) const {
    const ValueId old = state(s);
    if (std::ranges::count(body_.results, old) > 0) return false;
    for (std::size_t i = maker; i < groups_.size(); ++i)
      for (const NodeId n : groups_[i].nodes) {
        const ir::Node& node = g_.node(n);
        if (std::ranges::count(node.inputs, old) == 0) continue;
        const bool same_element = i == maker && ops::is_elementwise(*node.op) &&
                                  type(node.outputs[0]).extents() == type(old).extents();
        if (!same_element) return false;
      }
    return true;
  }

  // Buffers.

  /// One element, known so: it is kept in a register.
  bool single(ValueId v) const {
    const ir::Type& t = type(v);
    return !in_buffer_.contains(v) && std::ranges::all_of(t.extents(), [](const ir::Extent& e) {
      return e.known() && e.value == 1;
    });
  }
  bool carried(std::size_t s) const { return single(state(s)); }

  std::int32_t bind(Kind kind, std::size_t index, std::string name, const ir::Type& t,
                    Access access, bool contiguous, ir::Type told = {}, Tensor constant = {}) {
    std::vector<std::int64_t> extents;
    for (const ir::Extent& e : t.extents()) extents.push_back(e.value);
    out_.bindings.push_back({kind, index, std::move(told), std::move(constant)});
    const std::int32_t id = b_.buffer(
        {std::move(name), t.dtype(), access, std::move(extents), contiguous});
    for (std::int64_t a = 0; a < t.rank(); ++a)
      if (t.extent(a).symbolic()) symbol_at_.try_emplace(t.extent(a).symbol, id, a);
    return id;
  }

  void declare_parameters() {
    for (std::size_t s = 0; s < parts_.states; ++s)
      state_buffers_.push_back(
          bind(Kind::state, s, "state" + std::to_string(s), type(state(s)), Access::inout, true));
    go_buffer_ = bind(Kind::go, 0, "go", ir::Type::scalar(DType::boolean), Access::inout, true);
    stopped_buffer_ = bind(Kind::stopped, 0, "stopped", ir::Type::scalar(DType::i64), Access::out,
                           true);
    for (std::size_t c = 0; c < captures_.size(); ++c)
      outer_buffers_[captures_[c]] = bind(Kind::capture, c, "capture" + std::to_string(c),
                                          type(captures_[c]), Access::in,
                                          class_.contiguous[node_.inputs.size() + c]);
    for (std::size_t s = 0; s < parts_.scans; ++s)
      scan_buffers_.push_back(bind(Kind::scan, s, "scan" + std::to_string(s),
                                   class_.types[parts_.scans_at() + s], Access::in,
                                   class_.contiguous[parts_.scans_at() + s]));
    for (std::size_t s = 0; s < parts_.stacks; ++s) declare_stack(s);
    declare_constants();
    declare_temporaries();
  }

  void declare_stack(std::size_t s) {
    const ir::Type& item = type(body_.results[1 + parts_.states + s]);
    for (const ir::Extent& e : item.extents())
      if (!e.known() && !class_symbol(e)) not_whole("the extents of item {} are not known", s);
    ir::Extents extents = item.extents();
    extents.insert(extents.begin() + stack_axis(s), ir::Extent());
    stack_buffers_.push_back(bind(Kind::stack, s, "stack" + std::to_string(s),
                                  ir::Type::tensor(item.dtype(), std::move(extents)), Access::out,
                                  true, item));
  }

  /// Larger constants, which programs read from memory.
  void declare_constants() {
    for (const Group& group : groups_)
      for (const ValueId v : group.inputs) declare_constant(v);
    for (const ValueId v : body_.results) declare_constant(v);
  }
  void declare_constant(ValueId v) {
    const Tensor* t = g_.constant(v);
    if (t == nullptr || outer_buffers_.contains(v) ||
        (is_small_constant(g_, v) && !in_buffer_.contains(v)))
      return;
    k_.types[ir::index(v)] = ir::Type::tensor(t->dtype(), t->shape());
    outer_buffers_[v] = bind(Kind::constant, 0, "constant" + std::to_string(ir::index(v)), type(v),
                             Access::in, t->contiguous(), {}, *t);
  }

  /// Values that lie in memory between groups or trips and have no place yet.
  void declare_temporaries() {
    for (const Group& group : groups_)
      for (const ValueId v : group.outputs)
        if (!in_place_.contains(v) && !single(v)) need_temporary(v);
    for (const ValueId v : body_.params)
      if (in_buffer_.contains(v) && !is_state(v)) need_temporary(v);
    for (std::size_t s = 0; s < parts_.states; ++s)
      if (!carried(s) && is_state(body_.results[1 + s]) && body_.results[1 + s] != state(s))
        need_temporary(body_.results[1 + s]);
    for (const ValueId v : needed_) {
      if (is_local(v)) continue;
      temporaries_[v] = bind(Kind::temporary, 0, "t" + std::to_string(ir::index(v)), type(v),
                             Access::inout, true, type(v));
    }
  }
  void need_temporary(ValueId v) {
    if (std::ranges::count(needed_, v) > 0) return;
    for (const ir::Extent& e : type(v).extents())
      if (!e.known() && !class_symbol(e))
        not_whole("the extents of '{}' ({}) are not known before the loop", g_.value(v).name,
                  to_text(type(v)));
    needed_.push_back(v);
  }
  bool is_local(ValueId v) const {
    return type(v).is_static() && element_count(type(v).static_shape()) *
                                          static_cast<std::int64_t>(byte_size(type(v).dtype())) <=
                                      most_local_bytes;
  }
  void declare_locals() {
    for (const ValueId v : needed_)
      if (is_local(v))
        temporaries_[v] = b_.local("t" + std::to_string(ir::index(v)), type(v).dtype(),
                                   type(v).static_shape());
  }

  // The program.

  /// What stands before the loop: extents, captured scalars.
  void enter() {
    for (const auto& [symbol, at] : symbol_at_) symbols_[symbol] = b_.extent(at.first, at.second);
    for (std::size_t c = 0; c < captures_.size(); ++c) enter_list(c);
    for (const auto& [v, buffer] : outer_buffers_)
      outer_.emplace(v, single(v) ? held(v, b_.load(buffer, zeros(v))) : whole_buffer(b_, buffer));
  }

  /// Extents that no tensor has are read where they are listed.
  void enter_list(std::size_t c) {
    const ir::Extents& elements = class_.elements[node_.inputs.size() + c];
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (!elements[i].symbolic() || symbols_.contains(elements[i].symbol)) continue;
      const Indices at(static_cast<std::size_t>(type(captures_[c]).rank()),
                       b_.index(static_cast<std::int64_t>(i)));
      symbols_[elements[i].symbol] = b_.load(outer_buffers_.at(captures_[c]), at);
    }
  }

  void write_loop(Ex from, Ex to) {
    std::vector<Ex> inits{b_.load(go_buffer_, {})};
    for (std::size_t s = 0; s < parts_.states; ++s)
      if (carried(s)) inits.push_back(b_.load(state_buffers_[s], zeros(state(s))));
    const auto trip = [&](Ex t, std::span<const Ex> carried_in) {
      return write_trip(t, carried_in);
    };
    const auto counted_trip = [&](Ex t, std::span<const Ex> carried_in) {
      std::vector<Ex> next = trip(t, carried_in);
      next.erase(next.begin());
      return next;
    };
    std::vector<Ex> finals = parts_.has_go ? b_.for_while(from, to, inits, trip)
                                           : b_.for_(from, to, inits, counted_trip);
    b_.store(go_buffer_, {}, finals[0]);
    std::size_t next = 1;
    for (std::size_t s = 0; s < parts_.states; ++s)
      if (carried(s)) b_.store(state_buffers_[s], zeros(state(s)), finals[next++]);
    b_.store(stopped_buffer_, {}, parts_.has_go ? finals[next] : to);
  }

  /// One trip. Returns [goes on, go, carried states...].
  std::vector<Ex> write_trip(Ex t, std::span<const Ex> carried_in) {
    LoweringScope scope{g_, k_, b_, outer_, {}};
    b_.enter(ir::where(g_, id_), t);
    place_params(scope, t, carried_in);
    for (const Group& group : groups_) {
      place_constants(scope, group);
      for (const ValueId v : group.outputs) scope.sinks.emplace(v, sink_for(scope, v, t, group));
      lower_nodes(scope, group.nodes);
    }
    place_results(scope);
    store_items(scope, t);
    std::vector<Ex> next{element(scope, body_.results[0])};
    next.push_back(next[0]);
    for (std::size_t s = 0; s < parts_.states; ++s)
      if (carried(s)) next.push_back(element(scope, body_.results[1 + s]));
    move_states(scope);
    b_.leave();
    return next;
  }

  void place_params(LoweringScope& scope, Ex t, std::span<const Ex> carried_in) {
    scope.places.emplace(body_.params[0], single_element(b_, t, 0));
    scope.places.emplace(body_.params[1], single_element(b_, carried_in[0], 0));
    std::size_t next = 1;
    for (std::size_t s = 0; s < parts_.states; ++s)
      scope.places.emplace(state(s), carried(s) ? held(state(s), carried_in[next++])
                                                : whole_buffer(b_, state_buffers_[s]));
    for (std::size_t s = 0; s < parts_.scans; ++s) place_scan(scope, s, t);
    for (const ValueId v : body_.params)
      if (in_buffer_.contains(v) && !is_state(v)) {
        copy(scope.places.at(v), temporaries_.at(v));
        scope.places.at(v) = whole_buffer(b_, temporaries_.at(v));
      }
  }

  void place_scan(LoweringScope& scope, std::size_t s, Ex t) {
    const std::int32_t buffer = scan_buffers_[s];
    const std::int64_t rank = b_.buffer(buffer).rank();
    const std::int64_t axis = parts_.axis_in[s] < 0 ? parts_.axis_in[s] + rank : parts_.axis_in[s];
    const Ex extent = b_.extent(buffer, axis);
    const ValueId v = body_.params[2 + parts_.states + s];
    const std::string has = "scan '" + g_.value(v).name + "' has extent {}: trip {}";
    if (parts_.has_go) b_.check(t < extent, has + " reads past it", {extent, t});
    else if (parts_.has_trips)
      b_.check(t < extent, has + " of a count of {} reads past it", {extent, t, trips_});
    const Ex position = parts_.reverse_in[s] != 0 ? extent - 1 - t : t;
    Place place{[this, buffer, axis, position](const Indices& i) {
                  Indices whole = i;
                  whole.insert(whole.begin() + axis, position);
                  return b_.load(buffer, whole);
                },
                -1, extents_of(v)};
    scope.places.emplace(v, std::move(place));
  }

  void place_constants(LoweringScope& scope, const Group& group) {
    for (const NodeId n : group.nodes)
      for (const ValueId v : g_.node(n).inputs) place_constant(scope, v);
  }
  void place_constant(LoweringScope& scope, ValueId v) {
    if (v == ValueId::none || scope.places.contains(v)) return;
    if (const Tensor* t = g_.constant(v)) {
      k_.types[ir::index(v)] = ir::Type::tensor(t->dtype(), t->shape());
      scope.places.emplace(v, held(v, constant_element(b_, *t)));
    }
  }
  void place_results(LoweringScope& scope) {
    for (const ValueId v : body_.results) place_constant(scope, v);
  }

  /// Where a value that a group makes goes: a register, a temporary, the state it becomes, and the
  /// stacks it is an item of.
  Sink sink_for(LoweringScope& scope, ValueId v, Ex t, const Group& group) {
    Sink sink;
    sink.extents = extents_of(v);
    if (single(v)) {
      sink.stores.push_back([this, &scope, v](const Indices&, Ex x) {
        scope.places.insert_or_assign(v, held(v, x));
      });
      return sink;
    }
    const auto in_place = in_place_.find(v);
    sink.buffer = in_place != in_place_.end() ? state_buffers_[in_place->second]
                                              : temporaries_.at(v);
    sink.stores.push_back([this, id = sink.buffer](const Indices& i, Ex x) { b_.store(id, i, x); });
    scope.places.insert_or_assign(v, whole_buffer(b_, sink.buffer));
    if (ops::meaning_as<ops::Nest>(*g_.node(group.nodes[0]).op) != nullptr) return sink;
    for (std::size_t s = 0; s < parts_.stacks; ++s)
      if (body_.results[1 + parts_.states + s] == v) {
        stored_.insert(s);
        sink.stores.push_back([this, s, t](const Indices& i, Ex x) {
          b_.store(stack_buffers_[s], stack_index(s, i, t), x);
        });
      }
    return sink;
  }

  void store_items(LoweringScope& scope, Ex t) {
    for (std::size_t s = 0; s < parts_.stacks; ++s) {
      if (stored_.contains(s)) continue;
      const ValueId v = body_.results[1 + parts_.states + s];
      const Place& from = scope.places.at(v);
      over(extents_of(v), [&](const Indices& i) {
        b_.store(stack_buffers_[s], stack_index(s, i, t), from.load(i));
      });
    }
  }

  /// The states that are not yet where they belong, as one parallel move.
  void move_states(LoweringScope& scope) {
    std::vector<std::pair<std::size_t, ValueId>> moves;
    for (std::size_t s = 0; s < parts_.states; ++s) {
      const ValueId next = body_.results[1 + s];
      const auto in_place = in_place_.find(next);
      const bool there = next == state(s) || (in_place != in_place_.end() && in_place->second == s);
      if (!carried(s) && !there) moves.emplace_back(s, next);
    }
    for (const auto& [s, v] : moves)
      if (is_state(v)) copy(scope.places.at(v), temporaries_.at(v));
    for (const auto& [s, v] : moves)
      copy(is_state(v) ? whole_buffer(b_, temporaries_.at(v)) : scope.places.at(v),
           state_buffers_[s]);
  }

  // Small pieces.

  const ir::Type& type(ValueId v) const { return k_.types[ir::index(v)]; }
  ValueId state(std::size_t s) const { return body_.params[2 + s]; }
  bool is_state(ValueId v) const {
    const auto begin = body_.params.begin() + 2,
               end = begin + static_cast<std::ptrdiff_t>(parts_.states);
    return std::find(begin, end, v) != end;
  }
  bool class_symbol(const ir::Integer& e) const {
    const auto has = [&](const ir::Extents& extents) { return std::ranges::count(extents, e) > 0; };
    return std::ranges::any_of(class_.elements, has) ||
           std::ranges::any_of(
               class_.types, [&](const ir::Type& t) { return t.is_tensor() && has(t.extents()); });
  }
  Place held(ValueId v, Ex x) { return single_element(b_, x, type(v).rank()); }
  Indices zeros(ValueId v) {
    return Indices(static_cast<std::size_t>(type(v).rank()), b_.index(0));
  }
  Ex element(LoweringScope& scope, ValueId v) { return scope.places.at(v).load(zeros(v)); }

  std::vector<Ex> extents_of(ValueId v) {
    std::vector<Ex> extents;
    for (const ir::Extent& e : type(v).extents()) {
      if (!e.known() && !symbols_.contains(e.symbol))
        not_whole("the extents of '{}' ({}) are not known before the loop", g_.value(v).name,
                  to_text(type(v)));
      extents.push_back(e.known() ? b_.index(e.value) : symbols_.at(e.symbol));
    }
    return extents;
  }

  bool certain() const { return !parts_.has_go && (parts_.has_trips || parts_.scans > 0); }
  std::int64_t stack_axis(std::size_t s) const {
    const std::int64_t rank = type(body_.results[1 + parts_.states + s]).rank() + 1;
    if (!certain()) return 0;
    return parts_.axis_out[s] < 0 ? parts_.axis_out[s] + rank : parts_.axis_out[s];
  }
  /// Where an item's element goes: in its place when the trips are certain, else in row t.
  Indices stack_index(std::size_t s, const Indices& i, Ex t) {
    Indices whole = i;
    const bool reversed = certain() && parts_.reverse_out[s] != 0;
    whole.insert(whole.begin() + stack_axis(s), reversed ? trips_ - 1 - t : t);
    return whole;
  }

  void over(const std::vector<Ex>& extents, const std::function<void(const Indices&)>& body) {
    b_.for_all(extents, body);
  }
  void copy(const Place& from, std::int32_t to) {
    over(from.extents, [&](const Indices& i) { b_.store(to, i, from.load(i)); });
  }

  const Graph& g_;
  const NodeId id_;
  const ir::Node& node_;
  const LoopParts parts_;
  const ir::Region& body_;
  const ShapeClass& class_;
  scalar::Builder b_;
  LoweredLoop out_;
  ir::Knowledge k_;
  std::vector<Group> groups_;
  std::vector<ValueId> captures_, needed_;
  std::set<ValueId> in_buffer_;              ///< what a nest reads or writes
  std::map<ValueId, std::size_t> in_place_;  ///< next values that overwrite their state
  std::vector<std::int32_t> state_buffers_, scan_buffers_, stack_buffers_;
  std::int32_t go_buffer_ = -1, stopped_buffer_ = -1;
  std::map<ValueId, std::int32_t> outer_buffers_, temporaries_;
  std::map<ir::Symbol, std::pair<std::int32_t, std::int64_t>> symbol_at_;
  std::map<ir::Symbol, Ex> symbols_;
  std::map<ValueId, Place> outer_;
  std::set<std::size_t> stored_;  ///< stacks that their maker stores to
  Ex trips_;
};

}  // namespace

LoweredLoop lower_loop(const Graph& g, NodeId n, const ShapeClass& c, bool fuse) {
  try {
    return LoopLowering(g, n, c, fuse).run();
  } catch (const NotWhole& e) { return {nullptr, e.reason, {}}; } catch (const Error& e) {
    // What is wrong is found again, with its trip, when the loop runs step by step.
    if (e.blame() == Blame::internal || ends_run(e)) throw;
    return {nullptr, e.what(), {}};
  }
}

}  // namespace rondel::passes
