#pragma once
#include "lowering/storage_plan.h"

#include <map>

namespace rondel::lowering {

/// Proves for all inputs of a shape class that storage has room for values. The bounds of extents
/// that become known only inside of the tree are derived here from the definition of loops.
class StorageRoom {
 public:
  explicit StorageRoom(const RegionTree& t) : t_(t), class_names_(t.class_names()) {}

  /// Whether each extent is a number or an expression over names that are known before the run.
  bool is_known(const ir::Type&) const;
  /// Whether the value, with any extents that it can have, fits into memory of type `room`.
  bool fits(ir::ValueId, const ir::Type& room) const;
  /// Whether the memory has exactly the extents of the value, so that an op can work on it as on a
  /// whole tensor.
  bool is_exact(ir::ValueId v, const ir::Type& room) const { return t_.type(v) == room; }
  /// Whether the value has the extents of the last axes of the memory.
  bool is_row(ir::ValueId v, const ir::Type& room) const;
  /// Notes what bounds the lengths of a loop's stacks, and the extents of its states.
  void visit(ir::NodeId loop);

 private:
  /// `steps`: how many bounds may be put in the place of names, one after the other.
  bool covers(const ir::Integer& room, const ir::Integer& needed, int steps = 6) const;
  bool covers_bound(const ir::Integer& room, const ir::Integer& needed, ir::Symbol name,
                    int steps) const;
  void visit_states(ir::NodeId loop, const ir::LoopParts&);
  void visit_state(ir::NodeId loop, const ir::LoopParts&, const ir::Extent& now,
                   const ir::Extent& first, const ir::Extent& next, ir::Symbol last);
  ir::Integer put_in_bounds(const ir::Integer&) const;
  ir::Integer whatever_changes(const ir::Integer&) const;
  std::vector<ir::Integers> bounds_of(ir::Symbol) const;
  std::vector<ir::Integer> most_trips(const ir::Node&, const ir::LoopParts&) const;

  const RegionTree& t_;
  const std::set<ir::Symbol> class_names_;
  /// By symbol: bounds, each a list of integers, the largest of which is at least the extent.
  std::map<ir::Symbol, std::vector<ir::Integers>> bounds_;
  /// Extents of next values of states, with bounds of the same form.
  std::vector<std::pair<ir::Integer, ir::Integers>> next_bounds_;
};

}  // namespace rondel::lowering
