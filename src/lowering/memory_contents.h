#pragma once
#include "lowering/storage_plan.h"

#include <set>
#include <span>
#include <string>
#include <vector>

namespace rondel::lowering {

/// What the storages of a plan certainly hold at one point of a program. A value may have several
/// names there: an initial state is the state of the first trip, too.
class MemoryContents {
 public:
  explicit MemoryContents(std::size_t storages) : cells_(storages) {}

  bool holds(StorageId, ir::ValueId) const;
  /// Replaces what the storage holds.
  void write(StorageId, ir::ValueId);
  /// The same with the value `v`, and those of its names in `from` that are in `whole`.
  void copy(StorageId from, StorageId to, ir::ValueId v, const std::set<ir::ValueId>& whole);
  std::span<const ir::ValueId> names(StorageId id) const { return cells_[id].names; }
  /// Gives what the storage holds another name.
  void name(StorageId, ir::ValueId);
  /// Nothing certain is there any more: `by` may have been written to it.
  void lose(StorageId, ir::ValueId by = ir::ValueId::none);
  /// Forgets the names that a region defines, when the program leaves it.
  void leave(const ir::Graph&, ir::RegionId);
  /// Keeps what is certain on both paths.
  void join(const MemoryContents&);
  /// Whether everything in `o` is here, too.
  bool includes(const MemoryContents& o) const;
  /// What the storage holds, for an error: "'x'".
  std::string text(const ir::Graph&, StorageId) const;

 private:
  struct Cell {
    std::vector<ir::ValueId> names;
    ir::ValueId lost_to = ir::ValueId::none;
  };
  std::vector<Cell> cells_;
};

}  // namespace rondel::lowering
