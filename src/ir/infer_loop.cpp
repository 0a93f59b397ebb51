// Loops: the types of states are widened until they hold in every trip (docs/loops.md, rule 1).
#include "base/axis.h"
#include "ir/inference.h"

#include <algorithm>
#include <set>

namespace rondel::ir {

void Inference::loop(NodeId n) {
  check_loop(n);
  const Node& node = g_.node(n);
  const LoopParts& parts = node.loop();
  const Region& body = g_.region(parts.body);
  type(body.params[0]) = Type::scalar(DType::i64);
  type(body.params[1]) = Type::scalar(DType::boolean);
  for (const ValueId p : body.params) forget(p);
  name_trip_index(n);
  for (std::size_t s = 0; s < parts.scans; ++s)
    type(body.params[2 + parts.states + s]) = element_of(n, type(node.inputs[parts.scans_at() + s]),
                                                         parts.axis_in[s], s);
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

void Inference::check_loop(NodeId n) {
  const Node& node = g_.node(n);
  const LoopParts& parts = node.loop();
  const Region& body = g_.region(parts.body);
  if (node.inputs.size() != parts.input_count() ||
      body.params.size() != 2 + parts.states + parts.scans ||
      body.results.size() != 1 + parts.states + parts.stacks)
    broken_invariant("{}: counts of the loop and its body differ", where(g_, n));
  if (parts.has_trips) need_scalar(n, node.inputs[parts.trips_at()], DType::i64, "the trip count");
  if (parts.has_go) need_scalar(n, node.inputs[parts.go_at()], DType::boolean, "the condition");
}

void Inference::name_trip_index(NodeId n) {
  const Node& node = g_.node(n);
  const Integer trips = most_trips_of(node, k_);
  if ((!trips.known() && !trips.symbolic()) || trips.at_least(largest_listed)) return;
  const ValueId param = g_.region(node.loop().body).params[0];
  const Symbol symbol = Extent::own(fmt::format("trip{}", index(param))).symbol;
  k_.trips.add(symbol, trips - 1);
  k_.elements[static_cast<std::int32_t>(param)] = {Integer(symbol)};
}

void Inference::begin_states(NodeId n) {
  const Node& node = g_.node(n);
  const LoopParts& parts = node.loop();
  for (std::size_t s = 0; s < parts.states; ++s)
    type(g_.region(parts.body).params[2 + s]) = type(node.inputs[parts.states_at() + s]);
}

void Inference::body_until_types_hold(NodeId n, ChangingExtents& changing) {
  const LoopParts& parts = g_.node(n).loop();
  do region(parts.body);
  while (widen_states(n, parts, changing));
}

bool Inference::widen_states(NodeId n, const LoopParts& parts, ChangingExtents& changing) {
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

void Inference::finish_loop(NodeId n, const ChangingExtents& changing) {
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

Type Inference::element_of(NodeId n, const Type& scan, std::int64_t axis, std::size_t k) {
  if (!scan.is_tensor()) fail_at(n, "scan {} is {}; expected a tensor", k, to_text(scan));
  if (!scan.has_rank()) return Type::unranked(scan.dtype());
  const std::int64_t rank = scan.rank();
  if (!has_axis(axis, rank))
    fail_at(n, "scan {} is {}; axis {} is out of range", k, to_text(scan), axis);
  Extents extents = scan.extents();
  extents.erase(extents.begin() + axis_from_front(axis, rank));
  return Type::tensor(scan.dtype(), std::move(extents));
}

Type Inference::stack_of(NodeId n, const LoopParts& parts, std::size_t k, const Type& item,
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

template <class F> void Inference::each_changing(NodeId n, const F& f) {
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

Integer Inference::by_trip_index(const Integer& i) const {
  return substitute(i, [&](Symbol s) {
    const auto at = std::ranges::find(by_trip_, s, &ExtentByTrip::name);
    return at == by_trip_.end() ? Integer(s) : at->in_trip;
  });
}

std::optional<Integer> Inference::by_state(const Integer& i) const {
  if (!depends_on_trip()(i)) return std::nullopt;
  for (const ExtentByTrip& known : by_trip_)
    if (const Integer more = i - known.in_trip; more.known()) return Integer(known.name) + more;
  return std::nullopt;
}

bool Inference::find_extents_by_trip(NodeId n, const ChangingExtents& changing) {
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

Integer Inference::extent_by_trip(Symbol trip, const Extent& e, const Extent& first,
                                  const Extent& next) {
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

bool Inference::hold_in_next_trip(NodeId n, std::size_t around) {
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

}  // namespace rondel::ir
