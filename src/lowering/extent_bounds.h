#pragma once
#include "ir/range.h"

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

  /// The name's value is known before, too.
  void add_known(ir::Symbol name) { names_.insert(name); }
  void add(ir::Symbol extent, const ir::Extent& bound) { bounds_[extent] = bound; }
  /// `now`, an extent of a state, is `next` after a trip, and has this bound. Extents between them
  /// get the same bound, so that values on the way to the next state can share the memory of the
  /// state.
  void add_state(ir::Symbol now, const ir::Extent& next, const ir::Extent& bound) {
    states_.push_back({now, next, bound});
    add(now, bound);
  }

  /// Whether the name has a bound: whether it becomes known inside.
  bool contains(ir::Symbol name) const { return bounds_.contains(name); }
  std::set<ir::Symbol> all() const;
  /// An upper bound of `next - now`, whatever `now` is; unknown if there is none.
  ir::Integer most_growth(const ir::Extent& next, ir::Symbol now) const;
  /// Whether `next` exceeds neither `now` nor 1.
  bool is_kept(const ir::Extent& next, ir::Symbol now) const;
  /// An upper bound; the extent itself if it is known before, unknown if there is no bound.
  ir::Extent most(const ir::Extent&) const;

 private:
  bool is_known(const ir::Integer&) const;
  /// Whether memory can be laid out for it.
  bool is_bound(const ir::Integer&) const;
  std::optional<ir::Range> range_of(ir::Symbol) const;

  std::set<ir::Symbol> names_;
  std::map<ir::Symbol, ir::Extent> bounds_;
  struct State {
    ir::Symbol now;
    ir::Extent next, bound;
  };
  std::vector<State> states_;
};

}  // namespace rondel::lowering
