#pragma once
#include "base/error.h"
#include "lowering/memory_contents.h"
#include "lowering/storage_room.h"

namespace rondel::lowering {

/// The program points at which something happens.
using Points = scalar::Buffer::Lifetime;

/// Where the elements of a value are loaded from.
struct Source {
  enum Kind : std::uint8_t { elsewhere, memory, nowhere } kind = elsewhere;
  StorageId storage = 0;
  ir::ValueId held = ir::ValueId::none;  ///< the value that the storage must hold
  bool whole = true;                     ///< false: the value is an element of a scan over `held`
};

/// The storages of a plan while the verifier goes through the program: checks each read and each
/// write, and keeps what the storages certainly hold. A storage is used within its lifetime only,
/// which is an interval of program points: what it holds at two points of its lifetime, it holds
/// between them. Throws Error(internal) at the node that runs.
class CheckedMemory {
 public:
  CheckedMemory(const RegionTree& t, const StorageMap& plan)
      : tree_(t), g_(t.graph()), plan_(plan), room_(t, plan), contents_(plan.all().size()),
        node_(t.top()) {}

  MemoryContents& contents() { return contents_; }
  StorageRoom& room() { return room_; }
  /// What runs from now on.
  void set_node(ir::NodeId n) { node_ = n; }
  /// Values of a region that the program has not entered come from outside.
  void enter(ir::RegionId r) { inside_.insert(r); }
  void forbid_writes(StorageId id) { only_read_.insert(id); }

  /// Where a value is loaded from when it is read.
  Source source(ir::ValueId) const;
  /// The source of the whole that an element of a scan is a part of. Its rows are read in place.
  Source scanned(ir::ValueId element) const;

  Source read(ir::ValueId, Points);
  void read_from(const Source&, ir::ValueId, Points) const;
  /// Writes a value that is computed.
  void put(ir::ValueId, StorageId to, Points);
  /// Writes `v`, which extends `beginning`, behind it. What was behind it before is lost.
  void extend(ir::ValueId v, ir::ValueId beginning, StorageId, Points);
  void copy(ir::ValueId, StorageId to, Points);
  void copy_from(StorageId from, ir::ValueId, StorageId to, Points);

  bool lives(StorageId, Points) const;
  void check_lives(ir::ValueId, StorageId, Points) const;
  void check_held(ir::ValueId, StorageId, Points) const;
  /// The extents of all storages follow from the class.
  void check_sizes() const;
  void check_room(ir::ValueId, StorageId) const;
  /// Kernels and products take a whole storage for the value.
  void check_exact(ir::ValueId, StorageId) const;
  /// The same for a row of a storage, whatever the number of rows.
  void check_row(ir::ValueId, StorageId) const;

  const std::string& name(ir::ValueId v) const { return g_.value(v).name; }
  template <class... Args>
  [[noreturn]] void fault(fmt::format_string<Args...> text, Args&&... args) const {
    throw_error_at(Blame::internal, ir::where(g_, node_),
                   "storage plan: " + fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  void check_writable(ir::ValueId, StorageId, Points) const;

  const RegionTree& tree_;
  const ir::Graph& g_;
  const StorageMap& plan_;
  StorageRoom room_;
  MemoryContents contents_;
  ir::NodeId node_;
  std::set<ir::RegionId> inside_;
  std::set<StorageId> only_read_;
  std::map<ir::ValueId, ir::ValueId> beginnings_;  ///< by value that was written by `extend`
};

}  // namespace rondel::lowering
