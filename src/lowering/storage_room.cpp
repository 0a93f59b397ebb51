#include "lowering/storage_room.h"

#include "base/axis.h"
#include "ir/expression.h"
#include "ir/range.h"

#include <algorithm>

namespace rondel::lowering {

using ir::Integer;
using ir::LoopParts;
using ir::Symbol;
using ir::ValueId;

namespace {

constexpr std::string_view earlier_mark = ".before";
/// Nothing is known of trips that are further back: states would lead from trip to trip for ever.
constexpr std::size_t most_steps_back = 2;

/// A name of what another name stood for in an earlier trip.
struct EarlierName {
  Symbol of;
  std::string trip;
  std::size_t steps_back = 1;
};
std::optional<EarlierName> as_earlier_name(Symbol name) {
  if (!name.expression().own) return std::nullopt;
  const std::string& text = name.name();
  const std::size_t at = text.rfind(earlier_mark);
  if (at == std::string::npos) return std::nullopt;
  EarlierName name_of{Symbol::own(text.substr(0, at)), text.substr(at + earlier_mark.size())};
  if (const auto before = as_earlier_name(name_of.of)) name_of.steps_back += before->steps_back;
  return name_of;
}

}  // namespace

bool StorageRoom::is_known(const ir::Type& t) const {
  return std::ranges::all_of(t.extents(), [&](const ir::Extent& e) {
    if (!e.symbolic()) return e.known();
    return std::ranges::all_of(e.symbol.names(),
                               [&](ir::Symbol name) { return t_.memory_names().contains(name); });
  });
}

bool StorageRoom::fits(ValueId v, const ir::Type& room) const {
  const ir::Type& t = t_.type(v);
  if (t.dtype() != room.dtype() || t.rank() != room.rank()) return false;
  if (t.has_no_elements()) return true;
  for (std::int64_t a = 0; a < t.rank(); ++a)
    // Where the program is given a size, it checks before it writes that the size suffices.
    if (!t_.size_in(room.extent(a)) && !covers(room.extent(a), t.extent(a))) return false;
  return true;
}

bool StorageRoom::is_row(ValueId v, const ir::Type& room) const {
  const ir::Type& t = t_.type(v);
  const std::int64_t more = room.rank() - t.rank();
  if (t.dtype() != room.dtype() || more < 0) return false;
  for (std::int64_t a = 0; a < t.rank(); ++a)
    if (!(t.extent(a) == room.extent(more + a))) return false;
  return true;
}

bool StorageRoom::covers(const Integer& room, const Integer& needed) const {
  return certainly_at_most(needed, room, [&](Symbol name) { return facts_of(name); });
}

/// The name of an earlier trip of a loop: of one each, because different integers come from
/// different trips.
std::string StorageRoom::earlier_trip(ir::NodeId loop, std::string name) {
  fixed_names_.try_emplace(name, names_outside(loop));
  return name;
}

/// What the integer was in an earlier trip.
Integer StorageRoom::in_earlier_trip(const Integer& i, const std::string& trip) const {
  const std::set<Symbol>& fixed = fixed_names_.at(trip);
  return ir::substitute(i, [&](Symbol name) {
    if (fixed.contains(name)) return Integer(name);
    return Integer(Symbol::own(fmt::format("{}{}{}", name.name(), earlier_mark, trip)));
  });
}

/// The names of what is known before the run, and of what the regions around the loop compute.
std::set<Symbol> StorageRoom::names_outside(ir::NodeId loop) const {
  const ir::Graph& g = t_.graph();
  std::set<Symbol> names = t_.memory_names();
  const auto add = [&](ValueId v) {
    if (v == ValueId::none || !t_.type(v).is_tensor() || !t_.type(v).has_rank()) return;
    for (const ir::Extent& e : t_.type(v).extents())
      if (e.symbolic()) names.insert(e.symbol.names().begin(), e.symbol.names().end());
  };
  for (ir::NodeId inner = loop; inner != t_.top();) {
    const ir::Region& around = g.region(g.node(inner).region);
    std::ranges::for_each(around.params, add);
    for (const ir::NodeId n : around.nodes) std::ranges::for_each(g.node(n).outputs, add);
    inner = around.parent;
  }
  return names;
}

// Facts.

/// What is certain about a name: that it is what an `if` gives in one of its branches, what the
/// program finds in the current trip, or what loops make of it.
std::vector<Fact> StorageRoom::facts_of(Symbol name) const {
  if (const auto earlier = as_earlier_name(name)) {
    if (earlier->steps_back > most_steps_back) return {};
    std::vector<Fact> facts = facts_of(earlier->of);
    for (Fact& fact : facts)
      for (std::vector<AtMost>& list : fact)
        for (AtMost& i : list) {
          i.a = in_earlier_trip(i.a, earlier->trip);
          i.b = in_earlier_trip(i.b, earlier->trip);
        }
    return facts;
  }
  if (name == trips_with_room()) return {{{{1, Integer(name)}}}};
  std::vector<Fact> facts;
  const auto at = facts_.find(name);
  if (at != facts_.end()) facts = at->second;
  const auto is = [&](const Integer& i) {
    return std::vector<AtMost>{{Integer(name), i}, {i, Integer(name)}};
  };
  const auto& either = t_.environment().either;
  if (const auto e = either.find(name); e != either.end())
    facts.push_back(Fact{is(e->second.first), is(e->second.second)});
  const auto& measures = t_.environment().measures;
  if (const auto m = measures.find(name); m != measures.end()) {
    const ir::Measure& how = m->second;
    if (!how.broadcast.empty())
      facts.push_back(at_most_largest(Integer(name), {how.broadcast.begin(), how.broadcast.end()}));
    else if (how.list != ValueId::none) facts.push_back({{{Integer(name), how.axis}}});
    else facts.push_back(Fact{is(how.expression)});
  }
  return facts;
}

void StorageRoom::visit_states(ir::NodeId n, const LoopParts& parts, const Trips& trips) {
  const std::vector<StateExtent> all = changing_extents(n, parts);
  std::vector<StateExtent> open = all;
  const auto close = [&] {
    while (std::erase_if(open, [&](const auto& state) { return keeps_room(state, trips); }) > 0) {}
  };
  close();
  // Also those that keep to their rooms: a result that is made from one may have less room.
  for (const StateExtent& state : all) visit_state(n, state, trips);
  close();
}

std::vector<StorageRoom::StateExtent> StorageRoom::changing_extents(ir::NodeId n,
                                                                    const LoopParts& parts) const {
  const ir::Node& node = t_.graph().node(n);
  const ir::Region& body = t_.graph().region(parts.body);
  std::vector<StateExtent> all;
  for (std::size_t s = 0; s < parts.states; ++s) {
    const ValueId param = body.params[2 + s];
    const ir::Type &now = t_.type(param), &next = t_.type(body.results[1 + s]),
                   &first = t_.type(node.inputs[parts.states_at() + s]);
    const ValueId last = n == t_.top() ? ValueId::none : node.outputs[s];
    for (std::int64_t a = 0; a < now.rank(); ++a)
      if (!(now.extent(a) == first.extent(a)) || !(now.extent(a) == next.extent(a)))
        all.push_back({fmt::format("{}_{}", ir::index(param), a), now.extent(a), first.extent(a),
                       next.extent(a),
                       last == ValueId::none ? Symbol() : t_.type(last).extent(a).symbol,
                       plan_.all()[plan_.state(n, s)].type.extent(a)});
  }
  return all;
}

/// Notes what bounds an extent of a state. By induction it is at most the largest of its first
/// value and of next values that do not depend on it, plus the growth of all trips before: at most
/// as much in each as in the one in which it grew most.
void StorageRoom::visit_state(ir::NodeId loop, const StateExtent& state, const Trips& trips) {
  const Symbol now = state.now.symbol;
  const auto whatever_is_now = [&](Symbol name) {
    return name == now ? std::optional(ir::Range{0, {}}) : std::nullopt;
  };
  ir::Integers least{state.first}, grown_names;
  Integer growth = 0;
  for (const Integer& next : alternatives(state.next)) {
    if (covers(state.now, next)) continue;
    const std::string trip = earlier_trip(loop, fmt::format("{}_{}", state.name, least.size()));
    const Integer most = t_.environment().without_measures(next);
    if (!most.symbolic() || !most.symbol.has_name(now))
      least.push_back(in_earlier_trip(next, trip));
    else if (covers(ir::max(state.now, 1), next)) least.emplace_back(1);
    else {
      growth = ir::max(growth, ir::greatest(most - state.now, whatever_is_now));
      if (next.symbol.is_name()) grown_names.push_back(next);
    }
  }
  growth = in_earlier_trip(growth, earlier_trip(loop, state.name));
  const auto add_bound = [&](Symbol name, const Integer& grown) {
    ir::Integers all;
    for (const Integer& i : least) all.push_back(i + growth * grown);
    add_fact(name, at_most_largest(Integer(name), all));
  };
  add_bound(now, trips.before);
  // Where the next extent is, a trip is made: without this, its bound would not say so.
  for (const Integer& next : grown_names) add_bound(next.symbol, trips.before + 1);
  if (!state.last) return;
  if (growth == Integer(0)) add_bound(state.last, 0);
  for (const Integer& most : trips.most) add_bound(state.last, most);
}

/// Notes that the extent keeps to the room that the plan gives it, if induction shows it: that it
/// is at most the room for as many trips as there have been. Whether it was shown.
bool StorageRoom::keeps_room(const StateExtent& state, const Trips& trips) {
  if (t_.size_in(state.room)) return false;
  for (const Integer& most : trips.most) {
    const auto room_after = [&](const Integer& trip) {
      return most.symbolic() ? ir::substitute(state.room, most.symbol, trip) : Integer(state.room);
    };
    std::vector<Fact>& facts = facts_[state.now.symbol];
    const std::vector<Fact> before = facts;
    facts.push_back({{{state.now, room_after(trips.before)}}});
    const bool shown = covers(room_after(0), state.first) &&
                       covers(room_after(trips.before + 1), state.next);
    if (!shown) {
      facts = before;
      continue;
    }
    const bool stays = covers(state.room, room_after(0)) &&
                       covers(state.room, room_after(trips.before + 1));
    if (state.last && stays) add_fact(state.last, {{{Integer(state.last), state.room}}});
    return true;
  }
  return false;
}

/// Integers of which the extent is one.
ir::Integers StorageRoom::alternatives(const ir::Extent& e) const {
  const auto& either = t_.environment().either;
  const auto at = e.symbolic() ? either.find(e.symbol) : either.end();
  if (at == either.end()) return {e};
  ir::Integers all = alternatives(at->second.first);
  for (const Integer& other : alternatives(at->second.second)) all.push_back(other);
  return all;
}

void StorageRoom::visit(ir::NodeId n) {
  const LoopParts parts(t_.graph().node(n));
  const Trips trips = trips_of(n, parts);
  if (trips.before.symbolic())
    for (const Integer& most : trips.most)
      add_fact(trips.before.symbol, {{{trips.before, most - 1}}});
  // What a state becomes may be what an inner loop makes of it.
  visit_loops_in(parts.body);
  visit_states(n, parts, trips);
  if (n != t_.top()) visit_stacks(n, parts, trips);
}

void StorageRoom::visit_stacks(ir::NodeId n, const LoopParts& parts, const Trips& trips) {
  const ir::Node& node = t_.graph().node(n);
  for (std::size_t k = 0; k < parts.stacks; ++k) {
    const ValueId v = node.outputs[parts.states + k];
    if (v == ValueId::none) continue;
    const ir::Type& t = t_.type(v);
    const ir::Extent& rows = t.extent(axis_from_front(parts.axis_out[k], t.rank()));
    if (!rows.symbolic() || !rows.symbol.is_name() || class_names_.contains(rows.symbol)) continue;
    const ir::Integers most = parts.has_extent(k) ? ir::Integers{t_.environment().integer(
                                                        node.inputs[parts.extent_at(k)])}
                                                  : trips.most;
    for (const Integer& i : most) add_fact(rows.symbol, {{{rows, i}}});
  }
}

void StorageRoom::visit_loops_in(ir::RegionId r) {
  for (const Group& group : t_.groups(r)) {
    const ir::NodeId n = group.nodes[0];
    if (t_.graph().node(n).is_loop()) visit(n);
    else
      for (const ir::RegionId inner : t_.regions(n)) visit_loops_in(inner);
  }
}

void StorageRoom::add_fact(Symbol name, const Fact& fact) {
  std::vector<Fact>& all = facts_[name];
  if (std::ranges::count(all, fact) == 0) all.push_back(fact);
}

/// The trip count of a loop, or 0 if it is negative; a name if the expression of that is too deep.
Integer StorageRoom::at_least_0(const Integer& count, ir::NodeId loop) {
  Integer most = ir::max(count, 0);
  if (most.known_or_symbolic() || !count.known_or_symbolic()) return most;
  most = Integer(Symbol::own(fmt::format("most_trips{}", ir::index(loop))));
  add_fact(most.symbol, at_most_largest(most, {count, 0}));
  return most;
}

StorageRoom::Trips StorageRoom::trips_of(ir::NodeId n, const LoopParts& parts) {
  const ir::Node& node = t_.graph().node(n);
  Trips trips;
  trips.before = t_.environment().integer(t_.graph().region(parts.body).params[0]);
  if (!trips.before.known_or_symbolic())
    trips.before = Integer(Symbol::own(fmt::format("trips{}", ir::index(n))));
  const auto add = [&](const Integer& most) {
    if (most.known_or_symbolic()) trips.most.push_back(most);
  };
  if (n == t_.top()) add(Integer(trips_with_room()));
  if (parts.has_trips) add(at_least_0(t_.environment().integer(node.inputs[parts.trips_at()]), n));
  for (std::size_t s = 0; s < parts.scans; ++s) {
    const ir::Type& t = t_.type(node.inputs[parts.scans_at() + s]);
    add(t.extent(axis_from_front(parts.axis_in[s], t.rank())));
  }
  return trips;
}

}  // namespace rondel::lowering
