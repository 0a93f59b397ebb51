#include "lowering/storage_room.h"

#include "base/axis.h"
#include "ir/range.h"

#include <algorithm>

namespace rondel::lowering {

using ir::Integer;
using ir::LoopParts;
using ir::ValueId;

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

bool StorageRoom::covers(const Integer& room, const Integer& needed, int steps) const {
  if (ir::never_positive(needed - room, [](ir::Symbol) { return std::nullopt; })) return true;
  const auto one_trip = [](ir::Symbol name) {  // there is always room for one
    return name == trips_with_room() ? std::optional(ir::Range{1, {}}) : std::nullopt;
  };
  if (ir::never_positive(needed - room, one_trip)) return true;
  if (!needed.symbolic() || steps == 0) return false;
  const bool covers_next = std::ranges::any_of(next_bounds_, [&](const auto& next) {
    return (next.first - needed).at_least(0) &&
           std::ranges::all_of(next.second,
                               [&](const Integer& most) { return covers(room, most, steps - 1); });
  });
  if (covers_next) return true;
  // Bounds of several names may cancel each other only if they are put in together.
  const Integer together = put_in_bounds(needed);
  if (!(together == needed) && covers(room, together, steps - 1)) return true;
  return std::ranges::any_of(needed.symbol.names(), [&](ir::Symbol name) {
    if (bounds_of(name).empty()) return false;
    if (covers_bound(room, needed, name, steps - 1)) return true;
    const bool less = needed != Integer(name) && (Integer(name) - needed).at_least(0);
    return less && covers_bound(room, Integer(name), name, steps - 1);
  });
}

/// An upper bound of an integer with a bound in the place of each name that has one.
Integer StorageRoom::put_in_bounds(const Integer& i) const {
  const Integer most = ir::greatest(i, [&](ir::Symbol name) {
    const std::vector<ir::Integers> bounds = bounds_of(name);
    return bounds.empty() || bounds[0].size() != 1 ? std::nullopt
                                                   : std::optional(ir::Range{0, bounds[0][0]});
  });
  return most.known_or_symbolic() ? most : i;
}

/// An upper bound over all that names may stand for which are not known before the run, if there is
/// one; else the integer itself.
Integer StorageRoom::whatever_changes(const Integer& i) const {
  const Integer most = ir::greatest(i, [&](ir::Symbol name) {
    return t_.memory_names().contains(name) ? std::nullopt : std::optional(ir::Range{0, {}});
  });
  return most.known_or_symbolic() ? most : i;
}

/// The bounds of a name; of one that an `if` gives, the extents in its branches; of one that is
/// found in the current trip, what it is or cannot exceed.
std::vector<ir::Integers> StorageRoom::bounds_of(ir::Symbol name) const {
  const auto& measures = t_.environment().measures;
  if (const auto at = measures.find(name); at != measures.end()) {
    const Integer most = at->second.most();
    return {{put_in_bounds(most)}, {most}};
  }
  const auto& either = t_.environment().either;
  if (const auto at = either.find(name); at != either.end())
    return {{at->second.first, at->second.second}};
  const auto at = bounds_.find(name);
  return at == bounds_.end() ? std::vector<ir::Integers>() : at->second;
}

/// Whether the room suffices when the name has one of its bounds.
bool StorageRoom::covers_bound(const Integer& room, const Integer& needed, ir::Symbol name,
                               int steps) const {
  return std::ranges::any_of(bounds_of(name), [&](const ir::Integers& largest_of) {
    return std::ranges::all_of(largest_of, [&](const Integer& most) {
      const Integer greatest = ir::greatest(needed, [&](ir::Symbol other) {
        return other == name ? std::optional(ir::Range{0, most}) : std::nullopt;
      });
      return covers(room, greatest, steps);
    });
  });
}

void StorageRoom::visit_states(ir::NodeId n, const LoopParts& parts) {
  const ir::Node& node = t_.graph().node(n);
  const ir::Region& body = t_.graph().region(parts.body);
  for (std::size_t s = 0; s < parts.states; ++s) {
    const ir::Type &state = t_.type(body.params[2 + s]),
                   &initial = t_.type(node.inputs[parts.states_at() + s]),
                   &next = t_.type(body.results[1 + s]);
    const ValueId final = node.outputs[s];
    for (std::int64_t a = 0; a < state.rank(); ++a)
      if (!(state.extent(a) == initial.extent(a)) || !(state.extent(a) == next.extent(a)))
        visit_state(n, parts, state.extent(a), initial.extent(a), next.extent(a),
                    final == ValueId::none ? ir::Symbol() : t_.type(final).extent(a).symbol);
  }
}

/// Notes what bounds an extent of a state. By induction it is at most the largest of its first
/// value and of next values that do not depend on it, plus the growth of all trips before. `last`:
/// the name of the extent after the loop.
void StorageRoom::visit_state(ir::NodeId n, const LoopParts& parts, const ir::Extent& now,
                              const ir::Extent& first, const ir::Extent& next, ir::Symbol last) {
  ir::Integers least{t_.environment().without_measures(first)}, nexts;
  Integer growth = 0;
  std::vector<ir::Extent> open{next};
  while (!open.empty()) {
    const ir::Extent e = open.back();
    open.pop_back();
    nexts.emplace_back(e);
    const auto either = t_.environment().either.find(e.symbol);
    if (const Integer most = t_.environment().without_measures(e); !(most == Integer(e))) {
      open.emplace_back(most);
      continue;
    }
    const auto whatever_is_now = [&](ir::Symbol name) {
      return name == now.symbol ? std::optional(ir::Range{0, {}}) : std::nullopt;
    };
    if ((Integer(now) - e).at_least(0)) continue;
    if (e.symbolic() && either != t_.environment().either.end())
      open.insert(open.end(), {either->second.first, either->second.second});
    else if (!e.symbolic() || !e.symbol.has_name(now.symbol)) least.emplace_back(e);
    else if (ir::never_positive(Integer(e) - ir::max(Integer(now), 1), whatever_is_now))
      least.emplace_back(1);
    else growth = ir::max(growth, ir::greatest(Integer(e) - now, whatever_is_now));
  }
  growth = whatever_changes(growth);
  const auto after = [&](const Integer& trips) {
    ir::Integers all;
    for (const Integer& i : least) all.push_back(i + growth * trips);
    return all;
  };
  bounds_[now.symbol].clear();
  std::vector<Integer> most{Integer(trips_with_room())};
  if (n != t_.top()) {
    most = most_trips(t_.graph().node(n), parts);
    // The bounds of the first value and of the trips may use the same names: each has its own.
    for (std::size_t k = 0, given = most.size(); k < given; ++k)
      most.push_back(put_in_bounds(most[k]));
  }
  for (const Integer& trips : most) {
    bounds_[now.symbol].push_back(after(trips));  // looser, but other bounds may be made of it
    bounds_[now.symbol].push_back(after(growth == Integer(0) ? trips : trips - 1));
    if (last && n != t_.top()) bounds_[last].push_back(after(trips));
    for (const Integer& e : nexts) next_bounds_.emplace_back(e, after(trips));
  }
  if (growth == Integer(0)) bounds_[now.symbol].push_back(least);
  if (growth == Integer(0) && last && n != t_.top()) bounds_[last].push_back(least);
}

void StorageRoom::visit(ir::NodeId n) {
  const ir::Node& node = t_.graph().node(n);
  const LoopParts parts(node);
  const Integer index = t_.environment().integer(t_.graph().region(parts.body).params[0]);
  if (index.symbolic()) {
    std::vector<ir::Integers>& bounds = bounds_[index.symbol];
    for (const Integer& most : most_trips(node, parts)) {
      bounds.push_back({most - 1});
      bounds.push_back({most});  // looser, but other bounds may be made of it
    }
  }
  visit_states(n, parts);
  for (std::size_t k = 0; k < parts.stacks && n != t_.top(); ++k) {
    const ValueId v = node.outputs[parts.states + k];
    if (v == ValueId::none) continue;
    const ir::Type& t = t_.type(v);
    const ir::Extent& rows = t.extent(axis_from_front(parts.axis_out[k], t.rank()));
    if (!rows.symbolic() || !rows.symbol.is_name() || class_names_.contains(rows.symbol)) continue;
    if (parts.has_extent(k))
      bounds_[rows.symbol] = {{t_.environment().integer(node.inputs[parts.extent_at(k)])}};
    else
      for (const Integer& most : most_trips(node, parts)) bounds_[rows.symbol].push_back({most});
  }
}

/// Integers that the trip count cannot exceed: the trip count that is asked for, and the extents
/// of the scans, past which no trip can read.
std::vector<Integer> StorageRoom::most_trips(const ir::Node& node, const LoopParts& parts) const {
  std::vector<Integer> most;
  if (parts.has_trips) {
    most.push_back(t_.environment().integer(node.inputs[parts.trips_at()]));
    most.push_back(ir::max(most[0], 0));
  }
  for (std::size_t s = 0; s < parts.scans; ++s) {
    const ir::Type& t = t_.type(node.inputs[parts.scans_at() + s]);
    most.emplace_back(t.extent(axis_from_front(parts.axis_in[s], t.rank())));
  }
  return most;
}

}  // namespace rondel::lowering
