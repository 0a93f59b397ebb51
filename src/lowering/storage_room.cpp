#include "lowering/storage_room.h"

#include "base/axis.h"

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
    if (!covers(room.extent(a), t.extent(a))) return false;
  return true;
}

bool StorageRoom::covers(const Integer& room, const Integer& needed, int steps) const {
  if ((room - needed).at_least(0)) return true;
  if (!needed.symbolic() || steps == 0) return false;
  if (bounds_.contains(needed.symbol)) return covers_bound(room, needed.symbol, 0, steps - 1);
  // One name in a sum has its largest value; what is left must not depend on the name.
  return std::ranges::any_of(needed.symbol.names(), [&](ir::Symbol name) {
    const Integer rest = needed - Integer(name);
    const bool depends = rest.symbolic() && std::ranges::count(rest.symbol.names(), name) > 0;
    return bounds_.contains(name) && (rest.known() || rest.symbolic()) && !depends &&
           covers_bound(room, name, rest, steps - 1);
  });
}

bool StorageRoom::covers_bound(const Integer& room, ir::Symbol name, const Integer& rest,
                               int steps) const {
  return std::ranges::any_of(bounds_.at(name), [&](const ir::Integers& largest_of) {
    return std::ranges::all_of(
        largest_of, [&](const Integer& most) { return covers(room, most + rest, steps); });
  });
}

/// An extent of a state that grows by the same in each trip has grown by that in each trip before.
void StorageRoom::visit_states(ir::NodeId n, const LoopParts& parts) {
  const ir::Node& node = t_.graph().node(n);
  const ir::Region& body = t_.graph().region(parts.body);
  for (std::size_t s = 0; s < parts.states; ++s) {
    const ir::Type& state = t_.type(body.params[2 + s]);
    const ValueId initial = node.inputs[parts.states_at() + s], final = node.outputs[s];
    for (std::int64_t a = 0; a < state.rank(); ++a) {
      const Integer now = state.extent(a), first = t_.type(initial).extent(a),
                    next = t_.type(body.results[1 + s]).extent(a);
      if (now == first && now == next) continue;
      const Integer growth = ir::max(next - now, 0);
      std::vector<ir::Integers> before{{first, next}}, after{{first, next}};
      for (const Integer& trips : n == t_.top() ? std::vector{Integer(trips_with_room())}
                                                : most_trips(node, parts)) {
        before.push_back({first + growth * (trips - 1)});
        after.push_back({first + growth * trips});
      }
      bounds_[now.symbol] = std::move(before);
      if (final != ValueId::none && n != t_.top())
        bounds_[t_.type(final).extent(a).symbol] = std::move(after);
    }
  }
}

void StorageRoom::visit(ir::NodeId n) {
  const ir::Node& node = t_.graph().node(n);
  const LoopParts parts(node);
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
