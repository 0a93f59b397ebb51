#pragma once
#include "lowering/extent_proof.h"
#include "lowering/storage_plan.h"

#include <map>

namespace rondel::lowering {

/// Proves for all inputs of a shape class that storage has room for values. The bounds of extents
/// that become known only inside of the tree are derived here from the definition of loops: as
/// facts about names, from which `extent_proof` draws conclusions.
class StorageRoom {
 public:
  StorageRoom(const RegionTree& t, const StorageMap& plan)
      : t_(t), plan_(plan), class_names_(t.class_names()) {}

  /// Whether each extent is a number or an expression over names that are known before the run.
  bool is_known(const ir::Type&) const;
  /// Whether the value, with any extents that it can have, fits into memory of type `room`.
  bool fits(ir::ValueId, const ir::Type& room) const;
  /// Whether the memory has exactly the extents of the value, so that an op can work on it as on a
  /// whole tensor.
  bool is_exact(ir::ValueId v, const ir::Type& room) const { return t_.type(v) == room; }
  /// Whether the value has the extents of the last axes of the memory.
  bool is_row(ir::ValueId v, const ir::Type& room) const;
  /// Notes what bounds the lengths of a loop's stacks, and the extents of its states; and of the
  /// loops in it.
  void visit(ir::NodeId loop);

 private:
  /// What is known of a loop's trips.
  struct Trips {
    ir::Integer before;  ///< the number of trips before the current one
    /// What their number cannot exceed: the trip count that is asked for; the extents of scans,
    /// past which no trip can read; of the top loop, the trips for which there is room.
    ir::Integers most;
  };
  /// An extent of a state of a loop.
  struct StateExtent {
    std::string name;
    ir::Extent now, first, next;
    ir::Symbol last;  ///< what it is after the loop, if that has a name
    ir::Extent room;  ///< what the plan gives it
  };
  bool covers(const ir::Integer& room, const ir::Integer& needed) const;
  std::vector<Fact> facts_of(ir::Symbol) const;
  void add_fact(ir::Symbol, const Fact&);
  void visit_states(ir::NodeId loop, const ir::LoopParts&, const Trips&);
  std::vector<StateExtent> changing_extents(ir::NodeId loop, const ir::LoopParts&) const;
  void visit_state(ir::NodeId loop, const StateExtent&, const Trips&);
  bool keeps_room(const StateExtent&, const Trips&);
  void visit_stacks(ir::NodeId loop, const ir::LoopParts&, const Trips&);
  void visit_loops_in(ir::RegionId);
  ir::Integers alternatives(const ir::Extent&) const;
  std::string earlier_trip(ir::NodeId loop, std::string name);
  ir::Integer in_earlier_trip(const ir::Integer&, const std::string& trip) const;
  std::set<ir::Symbol> names_outside(ir::NodeId loop) const;
  Trips trips_of(ir::NodeId loop, const ir::LoopParts&);
  ir::Integer at_least_0(const ir::Integer& count, ir::NodeId loop);

  const RegionTree& t_;
  const StorageMap& plan_;
  const std::set<ir::Symbol> class_names_;
  std::map<ir::Symbol, std::vector<Fact>> facts_;
  /// By what earlier trips are called: the names that stand for the same in all trips of that loop.
  std::map<std::string, std::set<ir::Symbol>> fixed_names_;
};

}  // namespace rondel::lowering
