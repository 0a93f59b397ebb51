#include "lowering/memory_contents.h"

#include <algorithm>

namespace rondel::lowering {

using ir::ValueId;

bool MemoryContents::holds(StorageId id, ValueId v) const {
  return std::ranges::count(cells_[id].names, v) > 0;
}

void MemoryContents::write(StorageId id, ValueId v) { cells_[id] = {{v}}; }

void MemoryContents::copy(StorageId from, StorageId to, ValueId v, const std::set<ValueId>& whole) {
  std::vector<ValueId> names = cells_[from].names;
  std::erase_if(names, [&](ValueId other) { return !whole.contains(other); });
  cells_[to] = {std::move(names)};
  name(to, v);
}

void MemoryContents::name(StorageId id, ValueId v) {
  if (!holds(id, v)) cells_[id].names.push_back(v);
}

void MemoryContents::lose(StorageId id, ValueId by) { cells_[id] = {{}, by}; }

void MemoryContents::leave(const ir::Graph& g, ir::RegionId r) {
  for (Cell& cell : cells_)
    std::erase_if(cell.names, [&](ValueId v) { return g.value(v).region == r; });
}

void MemoryContents::join(const MemoryContents& o) {
  for (StorageId id = 0; id < cells_.size(); ++id) {
    std::vector<ValueId>& names = cells_[id].names;
    if (!names.empty() && !o.cells_[id].names.empty()) cells_[id].lost_to = o.cells_[id].names[0];
    std::erase_if(names, [&](ValueId v) { return !o.holds(id, v); });
  }
}

bool MemoryContents::includes(const MemoryContents& o) const {
  for (StorageId id = 0; id < cells_.size(); ++id)
    if (!std::ranges::all_of(o.cells_[id].names, [&](ValueId v) { return holds(id, v); }))
      return false;
  return true;
}

std::string MemoryContents::text(const ir::Graph& g, StorageId id) const {
  const Cell& cell = cells_[id];
  std::string names;
  for (const ValueId v : cell.names) names += (names.empty() ? "'" : ", '") + g.value(v).name + "'";
  if (!names.empty()) return names;
  if (cell.lost_to == ValueId::none) return "nothing certain";
  return "nothing certain, because '" + g.value(cell.lost_to).name + "' may be there";
}

}  // namespace rondel::lowering
