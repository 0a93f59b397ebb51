#pragma once
#include "lowering/region_tree.h"
#include "scalar/program.h"

namespace rondel::lowering {

/// A block of memory that values of a region tree share, one after the other.
struct Storage {
  ir::Type type;         ///< extents are numbers and symbols of the class
  bool given = false;    ///< memory of the caller, for a state or a result of the top node
  bool bounded = false;  ///< `type` is an upper bound: what it holds has extents known only inside
  scalar::Buffer::Lifetime lifetime;
};
using StorageId = std::size_t;

/// Where the values of a region tree are stored.
class StorageMap {
 public:
  virtual ~StorageMap() = default;
  virtual const std::vector<Storage>& all() const = 0;
  /// The storage that a node writes a value to, or that holds a state. Nullopt for values in
  /// registers, values from outside, elements of scans, and items that are only stacked.
  virtual std::optional<StorageId> storage_of(ir::ValueId) const = 0;
  /// The storage of state `s` of a loop; requires that the state is not in a register.
  virtual StorageId state(ir::NodeId loop, std::size_t s) const = 0;
  /// The storage of a copy of a value: of a result of a region that lies where another one is moved
  /// to at the region's end, or of an element of a scan that an op needs contiguous.
  virtual std::optional<StorageId> copy(ir::ValueId) const = 0;
};

/// Assigns storage to all values of a region tree that are not kept in registers. A next state
/// shares the storage of the state, a branch's result that of the `if`'s output, and an inner
/// loop's state that of its final value, if nothing reads the old value any more. Lifetimes are in
/// the program points of the tree.
class StoragePlan : public StorageMap {
 public:
  explicit StoragePlan(const RegionTree&);

  const std::vector<Storage>& all() const override { return storages_; }
  std::optional<StorageId> storage_of(ir::ValueId) const override;
  StorageId state(ir::NodeId loop, std::size_t s) const override { return states_.at({loop, s}); }
  std::optional<StorageId> copy(ir::ValueId) const override;
  /// Why a value that is handed on is not stored where it is handed on to; empty if it is, or if
  /// the tree does not make it where it is handed on.
  std::string why_apart(ir::ValueId) const;

 private:
  /// A request to write a result of a region, or a value that the result may be written over, to
  /// `target`, which holds `old` (none: nothing).
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
  bool has_room(StorageId, ir::ValueId) const;
  void plan_copies(ir::NodeId loop);
  /// Values that are copied to storages at the end of a region, all at once.
  using Moves = std::vector<std::pair<ir::ValueId, StorageId>>;
  void plan_moves(const Moves&, ir::RegionId);
  void plan_branch(ir::NodeId, ir::RegionId, const std::vector<Preference>&);
  bool needs_buffer(ir::ValueId element) const;
  bool is_row(ir::ValueId element) const;
  std::optional<std::size_t> scan_of(ir::ValueId) const;
  bool only_item(ir::ValueId, Position made) const;
  bool may_overwrite(ir::ValueId old, Position writer, ir::ValueId by) const;
  ir::ValueId read_later(ir::ValueId old, Position writer, ir::ValueId by) const;
  ir::ValueId left_by(Position writer) const;
  bool handed_on_unchanged(ir::ValueId old, const Read&, ir::ValueId by) const;
  /// New storage with room for a value.
  StorageId add(ir::ValueId, scalar::Buffer::Lifetime, bool given = false);
  void extend_lifetime(StorageId, ir::ValueId, Position made);
  std::int32_t last_read(ir::ValueId, ir::RegionId defined) const;
  bool in_memory(ir::ValueId, Position made) const;

  const RegionTree& t_;
  std::vector<Storage> storages_;
  std::map<ir::ValueId, StorageId> storage_of_, copies_;
  std::map<ir::ValueId, ir::ValueId> apart_;  ///< by value: what it could not be written over
  /// By value: another one in the same place, which it extends, or of which it is the beginning.
  std::map<ir::ValueId, ir::ValueId> in_place_of_;
  std::map<std::pair<ir::NodeId, std::size_t>, StorageId> states_;
};

}  // namespace rondel::lowering
