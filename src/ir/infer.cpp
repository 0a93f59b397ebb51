#include "ir/infer.h"

#include "base/axis.h"
#include "base/cancellation.h"
#include "base/error.h"
#include "ir/changing_extents.h"
#include "ir/range.h"
#include "ir/user_op.h"

#include <algorithm>
#include <map>
#include <set>

namespace rondel::ir {
namespace {

/// Results of more elements than this are folded only if the inputs have at least as many elements.
constexpr std::int64_t most_folded_elements = 1024;
/// Limits on the number of rules applied by one inference: per node of the graph, plus a constant.
/// In deeply nested loops whose states widen, the passes over the innermost body multiply; without
/// a limit, inference of a small file could take years.
constexpr std::size_t most_rules_per_node = 200, most_rules = 1'000'000;

class Inference {
 public:
  Inference(const Graph& g, TypeEnvironment& k, const Evaluator& e) : g_(g), k_(k), evaluate_(e) {
    k_.types.cover(g.value_count());
  }

  void region(RegionId r) {
    for (const NodeId n : g_.region(r).nodes) node(n);
  }

  /// With `name_unknowns`, also names the extents of stacks whose trip count is unknown.
  /// `infer_region` does not need these names.
  void name_stacks() { name_stacks_ = true; }

  /// A node of a region. One that may never run and whose rule does not hold says nothing.
  void node(NodeId n) {
    const std::size_t around = by_trip_.size();
    try {
      infer(n);
    } catch (const Error& e) {
      const bool stays = k_.keeps_broken_nodes && g_.node(n).region != RegionId::root &&
                         e.blame() == Blame::caller;
      if (!(k_.without_trips || stays) || e.blame() == Blame::internal || ends_run(e)) throw;
      by_trip_.resize(around);
      k_.conditions.reset();
      for (const ValueId v : g_.node(n).outputs) {
        forget(v);
        if (v != ValueId::none) type(v) = g_.value(v).type;
      }
      for (const RegionId r : g_.node(n).regions) keep_types_inside(r);
    }
  }

  /// Calls f with each value that is defined in a region or below it.
  template <class F> void each_value_inside(RegionId outer, const F& f) {
    for (const RegionId r : g_.regions_below(outer)) {
      for (const ValueId v : g_.region(r).params) f(v);
      for (const NodeId n : g_.region(r).nodes)
        for (const ValueId v : g_.node(n).outputs)
          if (v != ValueId::none) f(v);
    }
  }
  /// What a loop or `if` that stays broken computes has the types that the graph tells.
  void keep_types_inside(RegionId r) {
    each_value_inside(r, [&](ValueId v) { type(v) = g_.value(v).type; });
  }
  /// So has what a branch computes that is not taken, if nothing was said of it yet.
  void complete_types_inside(RegionId r) {
    each_value_inside(r, [&](ValueId v) {
      if (k_.types.find(index(v)) == nullptr) type(v) = g_.value(v).type;
    });
  }

  void infer(NodeId n) {
    check_cancellation();
    if (++rules_ > most_rules + most_rules_per_node * g_.node_count())
      throw_error_at(Blame::limit, where(g_, n),
                     "loops nested this deep, whose states change type, take too long to infer");
    const Node& node = g_.node(n);
    for (const ValueId v : node.outputs) forget(v);
    if (node.is_loop()) return loop(n);
    if (node.op->name == "if") return branch(n);
    rule(n);
  }

  /// Implements `infer_from_regions`.
  bool from_regions(NodeId n) {
    if (!g_.node(n).is_loop()) {
      need_condition(n);
      join_branches(n);
      return true;
    }
    check_loop(n);
    const LoopParts& parts = g_.node(n).loop();
    const Region& body = g_.region(parts.body);
    for (std::size_t s = 0; s < parts.states; ++s) {
      const Type& state = type(body.params[2 + s]);
      const std::optional<Type> both = join(state, type(body.results[1 + s]));
      if (!both || !(*both == state)) return false;
    }
    finish_loop(n, {});
    return true;
  }

 private:
  Type& type(ValueId v) { return k_.types[index(v)]; }

  /// A predicate: whether an integer depends on a trip index.
  auto depends_on_trip() const {
    return [this](const Integer& i) { return k_.trips.changes(i); };
  }

  void forget(ValueId v) {
    if (v == ValueId::none) return;
    k_.values.erase(static_cast<std::int32_t>(v));
    k_.elements.erase(static_cast<std::int32_t>(v));
    k_.same.erase(static_cast<std::int32_t>(v));
  }

  template <class... Args>
  [[noreturn]] void fail_at(NodeId n, fmt::format_string<Args...> text, Args&&... args) {
    rondel::fail_at(where(g_, n), text, std::forward<Args>(args)...);
  }

  /// "; a=f32[8,64] b=f32[32,8]"
  std::string inputs_text(const Node& node) {
    std::string text;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == ValueId::none) continue;
      const auto& defs = node.op->inputs;
      const std::string port = defs.empty() ? std::to_string(i)
                                            : std::string(defs[std::min(i, defs.size() - 1)].name);
      text += (text.empty() ? "; " : " ") + port + "=" + to_text(type(node.inputs[i]));
    }
    return text;
  }

  /// The message with the types of the inputs appended, but before a hint such as "; cast one of
  /// them?".
  std::string with_inputs(const std::string& message, const Node& node) {
    const std::size_t hint = message.ends_with('?') ? message.rfind("; ") : std::string::npos;
    return message.substr(0, hint) + inputs_text(node) +
           (hint == std::string::npos ? "" : message.substr(hint));
  }

  void check_arity(NodeId n) {
    const Node& node = g_.node(n);
    const auto& defs = node.op->inputs;
    const bool open = !defs.empty() && defs.back().kind == InputDef::variadic;
    if (node.inputs.size() > defs.size() && !open)
      fail_at(n, "{} inputs given; {} takes at most {}", node.inputs.size(), node.op->name,
              defs.size());
    for (std::size_t i = 0; i < defs.size(); ++i) {
      const bool given = i < node.inputs.size() && node.inputs[i] != ValueId::none;
      if (!given && defs[i].kind == InputDef::needed)
        fail_at(n, "input '{}' is missing", defs[i].name);
    }
    if (open && user_op(*node.op) != nullptr) return;  // any of its inputs may be left out
    for (std::size_t i = defs.size() - 1; open && i < node.inputs.size(); ++i)
      if (node.inputs[i] == ValueId::none) fail_at(n, "input {} is left out; it is needed", i);
    for (const auto attribute : node.op->required)
      if (!node.attributes.has(attribute)) fail_at(n, "attribute '{}' is missing", attribute);
  }

  void rule(NodeId n) {
    check_arity(n);
    const Node& node = g_.node(n);
    std::vector<const Type*> types;
    std::vector<const Tensor*> values;
    std::vector<const Integers*> elements;
    std::vector<Integers> by_trip;  // elements that the rule can compare with trip indices
    by_trip.reserve(node.inputs.size());
    for (const ValueId v : node.inputs) {
      types.push_back(v == ValueId::none ? nullptr : &type(v));
      values.push_back(v == ValueId::none ? nullptr : k_.value(v));
      const auto known = k_.elements.find(static_cast<std::int32_t>(v));
      elements.push_back(known == k_.elements.end() ? nullptr : &known->second);
      if (elements.back() == nullptr || by_trip_.empty()) continue;
      by_trip.push_back(known->second);
      for (Integer& i : by_trip.back()) i = by_trip_index(i);
      elements.back() = &by_trip.back();
    }
    TypeContext context(node.attributes, types, values, elements, node.outputs.size(), &k_.trips,
                        k_.measure ? position_names(node) : PositionNames(),
                        k_.measure ? broadcast_names() : BroadcastNames());
    try {
      node.op->type(context);
    } catch (const Error& e) {
      throw Error(e.blame(), with_inputs(e.message(), node), e.frames()).within(where(g_, n));
    }
    for (std::size_t j = 0; j < node.outputs.size(); ++j)
      if (node.outputs[j] != ValueId::none)
        type(node.outputs[j]) = named(of_all_trips(context.outputs()[j]), node.outputs[j]);
    keep(node, context);
    const std::optional<Integers> conditions = context.conditions();
    if (k_.name_unknowns) k_.node_conditions[static_cast<std::int32_t>(n)] = conditions;
    if (!conditions || (!k_.measure && std::ranges::any_of(*conditions, depends_on_trip())))
      k_.conditions.reset();
    else if (k_.conditions)
      k_.conditions->insert(k_.conditions->end(), conditions->begin(), conditions->end());
    if (evaluate_ && context.known().empty()) fold(n, values);
  }

  /// Records what the rule states about the outputs besides their types.
  void keep(const Node& node, const TypeContext& said) {
    const auto each = [&](const auto& list, const auto& put) {
      for (const auto& [j, what] : list)
        if (j < node.outputs.size() && node.outputs[j] != ValueId::none)
          put(static_cast<std::int32_t>(node.outputs[j]), what);
    };
    const auto is_known = [](const Integer& e) { return e.known() || e.symbolic(); };
    each(said.known(), [&](auto v, const Tensor& t) { k_.values[v] = t; });
    each(said.made_elements(), [&](auto v, Integers e) {
      for (Integer& i : e) i = by_state(i).value_or(i);
      // Arithmetic in 64 bits wraps around, expressions do not.
      const auto of_one_tensor = [&](auto names) { return are_extents_of_one_value(names); };
      const auto wraps = [&](const Integer& i) {
        return i.symbolic() && !never_wraps(i, of_one_tensor);
      };
      std::ranges::replace_if(e, wraps, Integer());
      if (std::ranges::any_of(e, is_known)) k_.elements[v] = e;
      if (std::ranges::all_of(e, &Integer::known)) keep_list(v, e);
    });
    each(said.same(), [&](auto v, std::size_t k) { k_.same[v] = node.inputs[k]; });
  }

  bool are_extents_of_one_value(std::span<const Symbol> names) const {
    for (std::size_t v = 0; v < g_.value_count(); ++v) {
      const Type* t = k_.types.find(v);
      if (t == nullptr || !t->is_tensor() || !t->has_rank()) continue;
      std::vector<Symbol> left(names.begin(), names.end());
      for (const Extent& e : t->extents())
        if (const auto at = std::ranges::find(left, e.symbol); at != left.end()) left.erase(at);
      if (left.empty()) return true;
    }
    return false;
  }

  /// Records the value of a list whose elements are all known.
  void keep_list(std::int32_t v, const Integers& elements) {
    const Type& t = k_.types[static_cast<std::size_t>(v)];
    if (t.dtype() != DType::i64 || !t.is_static() || k_.values.contains(v)) return;
    Ints numbers;
    for (const Integer& e : elements) numbers.push_back(*e.number);
    k_.values[v] = Tensor::from<std::int64_t>(t.static_shape(),
                                              std::span<const std::int64_t>(numbers));
  }

  /// The type with unknown or named extents for those that depend on a trip index. Such a symbol
  /// would stand for another extent in each trip, but equal symbols are equal extents.
  Type of_all_trips(const Type& t) {
    if (!t.is_tensor() || !t.has_rank() || std::ranges::none_of(t.extents(), depends_on_trip()))
      return t;
    Extents extents = t.extents();
    for (Extent& e : extents)
      if (depends_on_trip()(e)) e = by_name(e);
    return Type::tensor(t.dtype(), std::move(extents));
  }
  Extent by_name(const Integer& e) {
    const Integer in_trip = k_.trips.simplified(by_trip_index(e));
    if (!depends_on_trip()(in_trip)) return Extent(in_trip);
    if (const auto same = by_state(in_trip)) return Extent(*same);
    return k_.measure ? Extent(measured(in_trip.symbol.text(), {in_trip})) : Extent();
  }

  PositionNames position_names(const Node& node) {
    return [&](std::size_t k, std::size_t i, const Extent& axis) {
      const ValueId list = node.inputs[k];
      const std::string key = fmt::format("{} {} {}", index(list), i, to_text(Integer(axis)));
      return Integer(measured(key, {{}, list, i, axis}));
    };
  }

  /// What symbols broadcast to has one name, in whichever order and however often they are met.
  BroadcastNames broadcast_names() {
    return [&](const Extent& a, const Extent& b) {
      std::set<Symbol> all;
      for (const Extent& e : {a, b}) {
        const auto at = k_.measures.find(e.symbol);
        if (at == k_.measures.end() || at->second.broadcast.empty()) all.insert(e.symbol);
        else
          for (const Extent& part : at->second.broadcast) all.insert(part.symbol);
      }
      Measure how;
      std::string key = "broadcast";
      for (const Symbol s : all) {
        how.broadcast.emplace_back(s);
        how.expression = how.broadcast.size() == 1 ? Integer(s)
                                                   : broadcast(how.expression, Integer(s));
        key += " " + s.text();
      }
      return how.expression.known_or_symbolic() ? Extent(measured(key, how)) : Extent();
    };
  }

  /// What two extents broadcast to, if they do: if they are equal, or one of them is 1. A short
  /// expression, because long ones are not kept.
  static Integer broadcast(const Integer& a, const Integer& b) {
    return floor_div(a * b, min(a, b));
  }

  /// The name of what is measured in this way; equal keys get the same name.
  Symbol measured(const std::string& key, const Measure& how) {
    const auto [at, made] = measured_.try_emplace(key);
    if (made) at->second = Symbol::own(fmt::format("m{}", k_.measures.size()));
    k_.measures.try_emplace(at->second, how);
    return at->second;
  }

  Type named(const Type& t, ValueId v) const {
    if (!k_.name_unknowns || !t.is_tensor() || !t.has_rank()) return t;
    Extents extents = t.extents();
    for (std::size_t a = 0; a < extents.size(); ++a)
      if (!extents[a].known() && !extents[a].symbolic())
        extents[a] = Extent::own(fmt::format("v{}.{}", index(v), a));
    return Type::tensor(t.dtype(), std::move(extents));
  }

  /// Constant folding: evaluates a small node whose inputs are known. How many elements it selects
  /// is known then, too.
  void fold(NodeId n, std::span<const Tensor* const> values) {
    const Node& node = g_.node(n);
    if (node.op->random || !node.regions.empty() || node.outputs.empty()) return;
    std::int64_t read = 0, made = 0;
    bool all_are_static = true;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == ValueId::none) continue;
      if (values[i] == nullptr) return;
      const auto end = node.inputs.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::find(node.inputs.begin(), end, node.inputs[i]) == end) read += values[i]->size();
    }
    for (const ValueId v : node.outputs) {
      if (v == ValueId::none) continue;
      const Type& t = type(v);
      if (t.is_static()) made += element_count(t.static_shape());
      else if (node.op->selects_elements && read <= most_folded_elements) all_are_static = false;
      else return;
    }
    if (made > std::max(read, most_folded_elements)) return;
    const std::vector<Value> results = evaluate_(g_, n, values);
    for (std::size_t j = 0; j < results.size() && j < node.outputs.size(); ++j)
      if (node.outputs[j] != ValueId::none && results[j].is_tensor()) {
        if (!all_are_static) type(node.outputs[j]) = Type::of(results[j]);
        k_.values[static_cast<std::int32_t>(node.outputs[j])] = results[j].tensor().packed();
      }
  }

  /// Checks that `v` can be one element of `dtype`, of any rank.
  void need_scalar(NodeId n, ValueId v, DType dtype, std::string_view what) {
    const Type& t = type(v);
    if (!t.may_be_one_element() || t.dtype() != dtype)
      fail_at(n, "{} is {}; expected one element of {}", what, to_text(t), name(dtype));
  }

  Type element_of(NodeId n, const Type& scan, std::int64_t axis, std::size_t k) {
    if (!scan.is_tensor()) fail_at(n, "scan {} is {}; expected a tensor", k, to_text(scan));
    if (!scan.has_rank()) return Type::unranked(scan.dtype());
    const std::int64_t rank = scan.rank();
    if (!has_axis(axis, rank))
      fail_at(n, "scan {} is {}; axis {} is out of range", k, to_text(scan), axis);
    Extents extents = scan.extents();
    extents.erase(extents.begin() + axis_from_front(axis, rank));
    return Type::tensor(scan.dtype(), std::move(extents));
  }

  Type stack_of(NodeId n, const LoopParts& parts, std::size_t k, const Type& item,
                const Extent& trips) {
    if (!item.is_tensor())
      fail_at(n, "item {} of the body is {} {}; what a loop stacks must be a tensor", k,
              item.is_sequence() ? "a sequence,"
              : item.is_map()    ? "a map,"
                                 : "an optional,",
              to_text(item));
    if (!item.has_rank()) return Type::unranked(item.dtype());
    const std::int64_t rank = item.rank() + 1, axis = parts.axis_out[k];
    if (!has_axis(axis, rank))
      fail_at(n, "stack {} has rank {}; axis {} is out of range", k, rank, axis);
    const Extent extent = parts.has_extent(k)
                              ? Extent(k_.integer(g_.node(n).inputs[parts.extent_at(k)]))
                              : trips;
    Extents extents = item.extents();
    extents.insert(extents.begin() + axis_from_front(axis, rank), extent);
    return Type::tensor(item.dtype(), std::move(extents));
  }

  void check_loop(NodeId n) {
    const Node& node = g_.node(n);
    const LoopParts& parts = node.loop();
    const Region& body = g_.region(parts.body);
    if (node.inputs.size() != parts.input_count() ||
        body.params.size() != 2 + parts.states + parts.scans ||
        body.results.size() != 1 + parts.states + parts.stacks)
      broken_invariant("{}: counts of the loop and its body differ", where(g_, n));
    if (parts.has_trips)
      need_scalar(n, node.inputs[parts.trips_at()], DType::i64, "the trip count");
    if (parts.has_go) need_scalar(n, node.inputs[parts.go_at()], DType::boolean, "the condition");
  }

  /// Makes the trip index a symbol if an upper bound is known, as a number or a symbol.
  void name_trip_index(NodeId n) {
    const Node& node = g_.node(n);
    const Integer trips = most_trips_of(node, k_);
    if ((!trips.known() && !trips.symbolic()) || trips.at_least(largest_listed)) return;
    const ValueId param = g_.region(node.loop().body).params[0];
    const Symbol symbol = Extent::own(fmt::format("trip{}", index(param))).symbol;
    k_.trips.add(symbol, trips - 1);
    k_.elements[static_cast<std::int32_t>(param)] = {Integer(symbol)};
  }

  void loop(NodeId n) {
    check_loop(n);
    const Node& node = g_.node(n);
    const LoopParts& parts = node.loop();
    const Region& body = g_.region(parts.body);
    type(body.params[0]) = Type::scalar(DType::i64);
    type(body.params[1]) = Type::scalar(DType::boolean);
    for (const ValueId p : body.params) forget(p);
    name_trip_index(n);
    for (std::size_t s = 0; s < parts.scans; ++s)
      type(body.params[2 + parts.states + s]) = element_of(
          n, type(node.inputs[parts.scans_at() + s]), parts.axis_in[s], s);
    ChangingExtents changing;
    begin_states(n);
    body_until_types_hold(n, changing);
    const std::size_t around = by_trip_.size();
    if (k_.measure && find_extents_by_trip(n, changing)) {
      body_until_types_hold(n, changing);
      if (!hold_in_next_trip(n, around)) {
        by_trip_.resize(around);
        changing = {};
        begin_states(n);
        body_until_types_hold(n, changing);
      }
    }
    by_trip_.resize(around);
    finish_loop(n, changing);
  }

  void begin_states(NodeId n) {
    const Node& node = g_.node(n);
    const LoopParts& parts = node.loop();
    for (std::size_t s = 0; s < parts.states; ++s)
      type(g_.region(parts.body).params[2 + s]) = type(node.inputs[parts.states_at() + s]);
  }

  void body_until_types_hold(NodeId n, ChangingExtents& changing) {
    const LoopParts& parts = g_.node(n).loop();
    do region(parts.body);
    while (widen_states(n, parts, changing));
  }

  // Extents of states as expressions over the trip index. What else has such an extent then has
  // the extent of the state, by name.

  struct ExtentByTrip {
    Symbol name;      ///< of the extent in the current trip
    Integer in_trip;  ///< the same, over the trip index and names from outside of the loop
  };

  /// Calls f with each extent of a state that has a name: (the extent, the first one, the next).
  template <class F> void each_changing(NodeId n, const F& f) {
    const Node& node = g_.node(n);
    const LoopParts& parts = node.loop();
    const Region& body = g_.region(parts.body);
    for (std::size_t s = 0; s < parts.states; ++s) {
      Type& state = type(body.params[2 + s]);
      const Type &initial = type(node.inputs[parts.states_at() + s]),
                 &next = type(body.results[1 + s]);
      const auto has_rank_of_state = [&](const Type& t) {
        return t.is_tensor() && t.has_rank() && t.rank() == state.rank();
      };
      if (!state.is_tensor() || !state.has_rank() || !has_rank_of_state(initial) ||
          !has_rank_of_state(next))
        continue;
      Extents extents = state.extents();
      for (std::int64_t a = 0; a < state.rank(); ++a)
        f(extents[static_cast<std::size_t>(a)], initial.extent(a), next.extent(a));
      state = Type::tensor(state.dtype(), std::move(extents));
    }
  }

  /// The integer over trip indices in the place of extents.
  Integer by_trip_index(const Integer& i) const {
    return substitute(i, [&](Symbol s) {
      const auto at = std::ranges::find(by_trip_, s, &ExtentByTrip::name);
      return at == by_trip_.end() ? Integer(s) : at->in_trip;
    });
  }

  /// The integer as an extent of a state plus a number; nothing if it is no such sum, or depends on
  /// no trip index.
  std::optional<Integer> by_state(const Integer& i) const {
    if (!depends_on_trip()(i)) return std::nullopt;
    for (const ExtentByTrip& known : by_trip_)
      if (const Integer more = i - known.in_trip; more.known()) return Integer(known.name) + more;
    return std::nullopt;
  }

  /// Guesses extents by trip. Equal ones get one name. False if there are none.
  bool find_extents_by_trip(NodeId n, const ChangingExtents& changing) {
    const Integer trip = k_.integer(g_.region(g_.node(n).loop().body).params[0]);
    const std::size_t around = by_trip_.size();
    if (!trip.symbolic()) return false;
    each_changing(n, [&](Extent& e, const Extent& first, const Extent& next) {
      if (!e.symbolic() || !changing.names().contains(e.symbol)) return;
      const Integer in_trip = extent_by_trip(trip.symbol, e, first, next);
      if (!in_trip.known_or_symbolic()) return;
      const auto own = std::span(by_trip_).subspan(around);
      const auto same = std::ranges::find(own, in_trip, &ExtentByTrip::in_trip);
      if (same != own.end()) e = Extent(same->name);
      else by_trip_.push_back({e.symbol, in_trip});
    });
    return by_trip_.size() > around;
  }

  /// What the extent may be in each trip: it grows by a number, or it is what something else in the
  /// body was one trip before.
  Integer extent_by_trip(Symbol trip, const Extent& e, const Extent& first, const Extent& next) {
    const Integer growth = Integer(next) - Integer(e);
    if (growth.known()) return Integer(first) + growth * Integer(trip);
    if (!next.symbolic()) return {};
    for (const Symbol name : next.symbol.names()) {
      const auto at = k_.measures.find(name);
      if (at == k_.measures.end()) continue;
      const Integer before = substitute(at->second.expression, trip, Integer(trip) - 1);
      const auto is_outside = [&](Symbol s) {
        return s == trip || (first.symbolic() && first.symbol.has_name(s));
      };
      if (before.symbolic() && std::ranges::all_of(before.symbol.names(), is_outside) &&
          substitute(before, trip, 0) == Integer(first))
        return before;
    }
    return {};
  }

  /// Whether each extent by trip of this loop is still a state's and holds in the first trip, and
  /// in the next trip if all hold in one.
  bool hold_in_next_trip(NodeId n, std::size_t around) {
    const Symbol trip = k_.integer(g_.region(g_.node(n).loop().body).params[0]).symbol;
    std::set<Symbol> holding;
    bool hold = true;
    each_changing(n, [&](Extent& e, const Extent& first, const Extent& next) {
      const auto own = std::span(by_trip_).subspan(around);
      const auto at = std::ranges::find(own, e.symbol, &ExtentByTrip::name);
      if (!e.symbolic() || at == own.end()) return;
      const Integer growth = substitute(at->in_trip, trip, Integer(trip) + 1) - at->in_trip;
      hold = hold && substitute(at->in_trip, trip, 0) == Integer(first) &&
             Integer(next) == Integer(e) + growth;
      holding.insert(e.symbol);
    });
    return hold && holding.size() == by_trip_.size() - around;
  }

  /// Sets the types of a loop's results from the types of its body.
  void finish_loop(NodeId n, const ChangingExtents& changing) {
    const Node& node = g_.node(n);
    const LoopParts& parts = node.loop();
    const Region& body = g_.region(parts.body);
    need_scalar(n, body.results[0], DType::boolean, "the body's condition");
    const Extent trips = trips_of(node, k_);
    const Extent in_all_trips = k_.trips.changes(trips) ? Extent() : trips;  // of a loop around
    for (std::size_t s = 0; s < parts.states; ++s)
      set_output(node, s,
                 changing.after(type(node.inputs[parts.states_at() + s]), type(body.params[2 + s]),
                                type(body.results[1 + s]), in_all_trips, name_stacks_));
    for (std::size_t s = 0; s < parts.stacks; ++s) {
      const Type stack = of_all_trips(
          changing.outside(stack_of(n, parts, s, type(body.results[1 + parts.states + s]), trips)));
      const ValueId v = node.outputs[parts.states + s];
      set_output(node, parts.states + s, name_stacks_ ? named(stack, v) : stack);
    }
    set_output(node, parts.states + parts.stacks, Type::scalar(DType::i64));
  }

  /// Joins the type of each state with the type of its next value; true if a state was widened.
  bool widen_states(NodeId n, const LoopParts& parts, ChangingExtents& changing) {
    const Region& body = g_.region(parts.body);
    bool wider = false;
    for (std::size_t s = 0; s < parts.states; ++s) {
      Type& state = type(body.params[2 + s]);
      const Type& next = type(body.results[1 + s]);
      std::optional<Type> both = join(state, next);
      const bool keeps = parts.fixed[s] != 0 || (k_.without_trips && parts.keeps[s] != 0);
      const bool kept = keeps && !(k_.without_trips && !fits(next, state));  // nothing refuses it
      if (!both || (kept && !fits(next, state)))
        fail_at(n, "state {} ('{}') begins as {} and becomes {}; a state keeps its {}", s,
                g_.value(body.params[2 + s]).name, to_text(state), to_text(next),
                both ? "shape here" : "type");
      if (kept) continue;
      if (k_.name_unknowns)
        both = changing.named(body.params[2 + s], type(g_.node(n).inputs[parts.states_at() + s]),
                              state, next, *both);
      if (*both == state) continue;
      state = *both;
      wider = true;
    }
    changing.next_round();
    return wider;
  }

  void need_condition(NodeId n) {
    need_scalar(n, g_.node(n).inputs.at(0), DType::boolean, "the condition");
  }

  /// A branch that is known not to be taken is not checked, because it may be invalid: for example,
  /// a branch that squeezes an axis if its extent is 1.
  void branch(NodeId n) {
    need_condition(n);
    const Node& node = g_.node(n);
    if (const std::optional<RegionId> taken = taken_branch(node, k_)) {
      for (const RegionId r : node.regions)
        if (r != *taken) complete_types_inside(r);
      region(*taken);
      for (std::size_t j = 0; j < node.outputs.size(); ++j)
        set_output(node, j, type(g_.region(*taken).results.at(j)));
      return;
    }
    for (const RegionId r : node.regions) region(r);
    join_branches(n);
  }

  void join_branches(NodeId n) {
    const Node& node = g_.node(n);
    const Region &then = g_.region(node.regions.at(0)), &otherwise = g_.region(node.regions.at(1));
    std::vector<Symbol> made;
    for (std::size_t j = 0; j < node.outputs.size(); ++j) {
      const Type &a = type(then.results.at(j)), &b = type(otherwise.results.at(j));
      const std::optional<Type> both = join(a, b);
      if (!both)
        fail_at(n, "output {} is {} in one branch and {} in the other", j, to_text(a), to_text(b));
      set_output(node, j, k_.name_unknowns ? either(node.outputs[j], a, b, *both, made) : *both);
    }
  }

  /// The joined type of an output of an `if`, with names for extents that are not the same in both
  /// branches. `made`: the names of this `if` so far; the same two extents get the same name.
  Type either(ValueId output, const Type& a, const Type& b, const Type& both,
              std::vector<Symbol>& made) {
    if (!both.is_tensor() || !both.has_rank() || output == ValueId::none) return both;
    Extents extents = both.extents();
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      if (extents[axis].known_or_symbolic()) continue;
      const std::pair pair{a.extents()[axis], b.extents()[axis]};
      const auto same = std::ranges::find_if(made, [&](Symbol name) {
        const auto& [first, second] = k_.either.at(name);
        return first == pair.first && second == pair.second;
      });
      if (same != made.end()) {
        extents[axis] = Extent(*same);
        continue;
      }
      extents[axis] = Extent::own(fmt::format("v{}.{}", index(output), axis));
      k_.either[extents[axis].symbol] = pair;
      made.push_back(extents[axis].symbol);
    }
    return Type::tensor(both.dtype(), std::move(extents));
  }

  void set_output(const Node& node, std::size_t j, const Type& t) {
    if (j < node.outputs.size() && node.outputs[j] != ValueId::none) type(node.outputs[j]) = t;
  }

  const Graph& g_;
  TypeEnvironment& k_;
  const Evaluator& evaluate_;
  std::map<std::string, Symbol> measured_;  ///< names by what is measured
  std::vector<ExtentByTrip> by_trip_;       ///< of the loops around, the outermost first
  std::size_t rules_ = 0;
  bool name_stacks_ = false;
};

}  // namespace

Integer TypeEnvironment::integer(ValueId v) const {
  if (const Tensor* t = value(v); t != nullptr && t->size() == 1 && is_integer(t->dtype())) {
    const std::int64_t number = integers_of(*t)[0];
    return number < 0 && t->dtype() == DType::u64 ? Integer() : Integer(number);
  }
  const auto known = elements.find(static_cast<std::int32_t>(v));
  return known != elements.end() && known->second.size() == 1 ? known->second[0] : Integer();
}

Integer Measure::most() const {
  if (list != ValueId::none) return Integer(axis);
  if (broadcast.empty()) return expression;
  Integer largest = 0;
  for (const Extent& e : broadcast) largest = max(largest, e);
  return largest;
}

Integer TypeEnvironment::without_measures(const Integer& i) const {
  const auto is_measured = [&](Symbol name) { return measures.contains(name); };
  if (!i.symbolic() || std::ranges::none_of(i.symbol.names(), is_measured)) return i;
  const Integer most = greatest(i, [&](Symbol name) {
    return is_measured(name) ? std::optional(Range{0, measures.at(name).most()}) : std::nullopt;
  });
  return most.known_or_symbolic() ? without_measures(most) : i;
}

Extent trips_of(const Node& loop, const TypeEnvironment& k) {
  return loop.loop().has_go ? Extent() : Extent(max(most_trips_of(loop, k), 0));
}

Integer most_trips_of(const Node& loop, const TypeEnvironment& k) {
  const LoopParts& parts = loop.loop();
  if (parts.has_trips) return k.integer(loop.inputs[parts.trips_at()]);
  if (parts.scans == 0) return {};
  Integer least;
  for (std::size_t s = 0; s < parts.scans; ++s) {
    const Type& t = k.types[index(loop.inputs[parts.scans_at() + s])];
    const std::int64_t axis = parts.axis_in[s];
    if (!t.has_rank() || !has_axis(axis, t.rank())) return {};
    const Extent& e = t.extent(axis_from_front(axis, t.rank()));
    least = s == 0 ? e : min(least, e);
  }
  return least;
}

std::optional<RegionId> taken_branch(const Node& node, const TypeEnvironment& k) {
  const Tensor* condition = k.value(node.inputs[0]);
  if (condition == nullptr || condition->size() != 1) return std::nullopt;
  return node.regions.at(*condition->data_as<std::uint8_t>() != 0 ? 0 : 1);
}

ValueId TypeEnvironment::original(ValueId v) const {
  for (auto it = same.find(static_cast<std::int32_t>(v)); it != same.end();
       it = same.find(static_cast<std::int32_t>(v)))
    v = it->second;
  return v;
}

TypeEnvironment type_environment(const Graph& g) {
  TypeEnvironment k = strict_type_environment(g);
  k.keeps_broken_nodes = g.may_hold_broken_nodes;
  return k;
}

TypeEnvironment strict_type_environment(const Graph& g) {
  TypeEnvironment k;
  k.types.cover(g.value_count());
  for (std::size_t v = 0; v < g.value_count(); ++v) {
    const auto id = static_cast<ValueId>(v);
    k.types[v] = g.value(id).type;
    if (const Tensor* value = g.constant(id))
      k.values.emplace(static_cast<std::int32_t>(v), *value);
  }
  return k;
}

TypeEnvironment environment_of(const Graph& g, std::span<const ValueId> values) {
  TypeEnvironment k;
  k.types = Types(Types::Storage::sparse);
  k.keeps_broken_nodes = g.may_hold_broken_nodes;
  for (const ValueId v : values) {
    if (v == ValueId::none) continue;
    k.types[index(v)] = g.value(v).type;
    if (const Tensor* t = g.constant(v)) k.values[static_cast<std::int32_t>(v)] = *t;
  }
  return k;
}

/// Adds what a node and its regions read.
static void add_reads(const Graph& g, NodeId n, std::vector<ValueId>& reads) {
  const auto add = [&](const std::vector<ValueId>& more) {
    reads.insert(reads.end(), more.begin(), more.end());
  };
  add(g.node(n).inputs);
  for (const RegionId r : g.node(n).regions) add(g.captures(r));
}

TypeEnvironment environment_around(const Graph& g, NodeId n) {
  std::vector<ValueId> reads;
  add_reads(g, n, reads);
  return environment_of(g, reads);
}

/// Tensors in a list, or in an optional, need not have the extents that have these names elsewhere.
static Type without_symbols(const Type& t) {
  if (t.is_sequence()) return Type::sequence(without_symbols(t.element()));
  if (t.is_optional()) return Type::optional(without_symbols(t.element()));
  if (!t.is_tensor() || !t.has_rank()) return t;
  Extents extents = t.extents();
  for (Extent& e : extents)
    if (!e.known()) e = {};
  return Type::tensor(t.dtype(), std::move(extents));
}

TypeEnvironment named_type_environment(const Graph& g) {
  TypeEnvironment k = type_environment(g);
  k.name_unknowns = true;
  for (const ValueId v : g.root().params) {
    const Type& t = g.value(v).type;
    if (t.is_sequence() || t.is_optional()) k.types[index(v)] = without_symbols(t);
    if (!t.is_tensor() || !t.has_rank()) continue;
    Extents extents = t.extents();
    for (std::size_t a = 0; a < extents.size(); ++a) {
      Extent& e = extents[a];
      if (!e.known() && !e.symbolic()) e = Extent::own(fmt::format("in{}.{}", index(v), a));
    }
    k.types[index(v)] = Type::tensor(t.dtype(), std::move(extents));
  }
  return k;
}

void infer_region(const Graph& g, RegionId r, TypeEnvironment& k, const Evaluator& evaluate) {
  Inference(g, k, evaluate).region(r);
}

void infer_node(const Graph& g, NodeId n, TypeEnvironment& k, const Evaluator& evaluate) {
  Inference inference(g, k, evaluate);
  inference.name_stacks();
  inference.infer(n);
}

void infer_kept_node(const Graph& g, NodeId n, TypeEnvironment& k) {
  Inference inference(g, k, nullptr);
  inference.name_stacks();
  inference.node(n);
}

bool infer_from_regions(const Graph& g, NodeId n, TypeEnvironment& k) {
  return Inference(g, k, nullptr).from_regions(n);
}

void infer_types(Graph& g, const Evaluator& evaluate) {
  TypeEnvironment k = type_environment(g);
  infer_region(g, RegionId::root, k, evaluate);
  for (std::size_t v = 0; v < g.value_count(); ++v)
    g.value(static_cast<ValueId>(v)).type = k.types[v];
}

bool rule_holds(const Graph& g, NodeId n) { return rules_hold(g, {&n, 1}); }

bool rules_hold(const Graph& g, std::span<const NodeId> nodes) {
  const auto is_certain = [&](NodeId n) { return g.node(n).region == RegionId::root; };
  if (!g.may_hold_broken_nodes || std::ranges::all_of(nodes, is_certain)) return true;
  std::vector<ValueId> reads;
  for (const NodeId n : nodes) add_reads(g, n, reads);
  TypeEnvironment k = environment_of(g, reads);
  try {
    for (const NodeId n : nodes) infer_node(g, n, k);
  } catch (const Error& e) {
    if (e.blame() == Blame::internal || ends_run(e)) throw;
    return false;
  }
  return true;
}

bool can_fail(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  std::vector<const Type*> types;
  std::vector<const Tensor*> values;
  for (const ValueId v : node.inputs) {
    types.push_back(v == ValueId::none ? nullptr : &g.value(v).type);
    values.push_back(g.constant(v));
  }
  return node.op->can_fail(TypeContext(node.attributes, types, values, {}, node.outputs.size()));
}

std::string where(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  if (node.source.empty()) return fmt::format("node ({})", node.op->name);
  return node.source;
}

}  // namespace rondel::ir
