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
                               [&](ir::Symbol name) { return class_names_.contains(name); });
  });
}

bool StorageRoom::fits(ValueId v, const ir::Type& room) const {
  const ir::Type& t = t_.type(v);
  if (t.dtype() != room.dtype() || t.rank() != room.rank()) return false;
  for (std::int64_t a = 0; a < t.rank(); ++a)
    if (!covers(room.extent(a), t.extent(a))) return false;
  return true;
}

bool StorageRoom::covers(const Integer& room, const Integer& needed) const {
  if ((room - needed).at_least(0)) return true;
  const auto bounds = needed.symbolic() ? bounds_.find(needed.symbol) : bounds_.end();
  return bounds != bounds_.end() && std::ranges::any_of(bounds->second, [&](const Integer& most) {
           return covers(room, most);
         });
}

void StorageRoom::visit(ir::NodeId n) {
  const ir::Node& node = t_.graph().node(n);
  const LoopParts parts(node);
  for (std::size_t k = 0; k < parts.stacks; ++k) {
    const ValueId v = node.outputs[parts.states + k];
    if (v == ValueId::none) continue;
    const ir::Type& t = t_.type(v);
    const ir::Extent& rows = t.extent(axis_from_front(parts.axis_out[k], t.rank()));
    if (!rows.symbolic() || !rows.symbol.is_name() || class_names_.contains(rows.symbol)) continue;
    if (parts.has_extent(k))
      bounds_[rows.symbol] = {t_.environment().integer(node.inputs[parts.extent_at(k)])};
    else bounds_[rows.symbol] = most_trips(node, parts);
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
