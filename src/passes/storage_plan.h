#pragma once
#include "passes/region_tree.h"
#include "scalar/program.h"

namespace rondel::passes {

/// Memory that values of a tree of regions share, one after the other.
struct Storage {
  ir::Type type;       ///< extents are numbers and symbols of the class
  bool given = false;  ///< the caller's: a state, or a result, of the top node
  scalar::Buffer::Lifetime lifetime;
};
using StorageId = std::size_t;

/// Where values live that are no registers: one plan for all regions of a tree. A next state takes
/// the place of the state, a branch's result that of the `if`'s output, and an inner loop's state
/// that of its final value, wherever nothing reads what stood there any more. Moments in lifetimes
/// are those of the tree.
class StoragePlan {
 public:
  explicit StoragePlan(const RegionTree&);

  const std::vector<Storage>& all() const { return storages_; }
  /// Where a value is written by its maker (a state: where it stands); nothing for registers, for
  /// values from outside, for a scan's elements, and for items that only go to stacks.
  std::optional<StorageId> storage_of(ir::ValueId) const;
  /// Of state `s` of a loop, when it is no register.
  StorageId state(ir::NodeId loop, std::size_t s) const { return states_.at({loop, s}); }
  /// Where a copy of the value is kept: of a state while next states are moved, of a scan's element
  /// that a nest needs as a whole.
  std::optional<StorageId> copy(ir::ValueId) const;

 private:
  /// A result of a region, or what that is made of in place, which should be written where `old`
  /// (perhaps none) stands.
  struct Preference {
    std::size_t result;
    StorageId target;
    ir::ValueId old;
  };
  void plan_loop(ir::NodeId, std::optional<Position>);
  void plan_results(const ir::Node&);
  using Preferences = std::map<ir::ValueId, Preference>;
  void plan_region(ir::RegionId, const std::vector<Preference>&);
  void prefer(Preferences&, ir::ValueId, ir::RegionId, const Preference&);
  void plan_group(const Group&, Position, Preferences&);
  bool assign(ir::ValueId, Position made, const Preferences&);
  void plan_copies(ir::NodeId loop);
  bool only_item(ir::ValueId, Position made) const;
  bool may_overwrite(ir::ValueId old, Position writer, ir::ValueId by) const;
  bool handed_on_unchanged(ir::ValueId old, const Read&, ir::ValueId by) const;
  StorageId add(const ir::Type&, scalar::Buffer::Lifetime, bool given = false);
  void extend_lifetime(StorageId, ir::ValueId, Position made);
  std::int32_t last_read(ir::ValueId, ir::RegionId defined) const;
  bool in_memory(ir::ValueId, Position made) const;

  const RegionTree& t_;
  std::vector<Storage> storages_;
  std::map<ir::ValueId, StorageId> storage_of_, copies_;
  std::map<std::pair<ir::NodeId, std::size_t>, StorageId> states_;
};

}  // namespace rondel::passes
