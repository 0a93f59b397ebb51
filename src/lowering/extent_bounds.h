#pragma once
#include "ir/extent.h"

#include <map>
#include <set>
#include <vector>

namespace rondel::lowering {

/// Upper bounds of extents that become known only inside of a region tree, as expressions over
/// names whose values are known before it runs.
class ExtentBounds {
 public:
  /// `names`: those whose values are known before.
  explicit ExtentBounds(std::set<ir::Symbol> names = {}) : names_(std::move(names)) {}

  void add(ir::Symbol extent, const ir::Extent& bound) { bounds_[extent] = bound; }
  /// The extent of a state after each trip has this bound. Smaller extents get the same bound, so
  /// that values on the way to the next state can share the memory of the state.
  void add_next(const ir::Extent& next, const ir::Extent& bound) {
    next_.emplace_back(next, bound);
  }

  /// Whether the name has a bound: whether it becomes known inside.
  bool contains(ir::Symbol name) const { return bounds_.contains(name); }
  std::set<ir::Symbol> all() const;
  /// An upper bound; the extent itself if it is known before, unknown if there is no bound.
  ir::Extent most(const ir::Extent&) const;

 private:
  bool is_known(const ir::Integer&) const;

  std::set<ir::Symbol> names_;
  std::map<ir::Symbol, ir::Extent> bounds_;
  std::vector<std::pair<ir::Extent, ir::Extent>> next_;
};

}  // namespace rondel::lowering
