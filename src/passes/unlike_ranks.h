#pragma once
#include "passes/branch_paths.h"

#include <map>
#include <optional>
#include <set>

namespace rondel::passes {

/// The nodes of a region between `if`s in a loop that give unlike ranks and where ranks agree
/// again.
struct RankKnot {
  ir::RegionId region;
  ir::NodeId first;                  ///< the `if` that it begins with
  std::vector<ir::NodeId> nodes;     ///< in order
  std::vector<ir::NodeId> readers;   ///< nodes between them that read its results
  std::vector<ir::ValueId> results;  ///< what others read
  std::vector<ir::Type> types;       ///< of the results
  Path path;
};

/// Finds the knots that a bounded number of copies can resolve, with the ranks that states have if
/// all of these are resolved.
class RankKnots {
 public:
  explicit RankKnots(const ir::Graph& g) : g_(g) {}
  /// Those of all loops. `left`: `if`s with which no knot may begin.
  void find(const std::set<ir::NodeId>& left);

  /// None is inside of another one's `nodes`; those inside of its `readers` come before it.
  std::vector<RankKnot> found;
  /// By `if` that gives unlike ranks: why it begins no knot.
  std::map<ir::NodeId, std::string> why_not;
  /// By loop: the types of the items if no knot is resolved, and if all are.
  std::map<ir::NodeId, std::vector<ir::Type>> items_before, items_after;
  const ir::TypeEnvironment& types() const { return k_; }

 private:
  class Members;
  void region(ir::RegionId);
  void node(ir::NodeId);
  void loop(ir::NodeId);
  void outer_loop(ir::NodeId);
  void body_until_states_hold(ir::NodeId);
  bool widen(ir::NodeId);
  bool resolve(ir::RegionId, ir::NodeId, const std::set<ir::NodeId>& resolved);
  std::optional<RankKnot> grow(ir::RegionId, ir::NodeId);
  void on_path(ir::NodeId);
  bool follow(PathFinder&, const RankKnot&);
  bool is_in_the_way(ir::NodeId) const;
  bool follows_from_shapes(ir::ValueId, std::set<ir::ValueId>& seen) const;
  std::map<ir::ValueId, ir::Type> types_of(std::span<const ir::NodeId>) const;
  void forget(ir::ValueId);
  void note_items(ir::NodeId, std::map<ir::NodeId, std::vector<ir::Type>>&) const;

  const ir::Graph& g_;
  ir::TypeEnvironment k_;
  std::set<ir::NodeId> left_;
  int depth_ = 0;  ///< of loops
  std::size_t visits_ = 0;
};

}  // namespace rondel::passes
