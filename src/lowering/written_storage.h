#pragma once
#include "lowering/storage_plan.h"

#include <map>

namespace rondel::lowering {

/// Which storages the program of a tree writes to, for the verifier.
class WrittenStorage {
 public:
  WrittenStorage(const RegionTree& t, const StorageMap& plan) : t_(t), plan_(plan) {}

  /// Each storage that a trip of the loop may write to, and a value that it writes there; without
  /// the items that the loop stacks.
  const std::map<StorageId, ir::ValueId>& in_trips(ir::NodeId loop);
  /// Whether a group's program stores a result to memory, not to a register.
  bool is_stored(const Group&, ir::ValueId result) const;

 private:
  using Written = std::map<StorageId, ir::ValueId>;
  void add(Written&, ir::ValueId, std::optional<StorageId>) const;
  void add_region(Written&, ir::RegionId);
  void add_results_aside(Written&, ir::RegionId) const;
  void add_loop(Written&, ir::NodeId);

  const RegionTree& t_;
  const StorageMap& plan_;
  std::map<ir::NodeId, Written> of_loops_;
};

}  // namespace rondel::lowering
