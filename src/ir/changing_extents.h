#pragma once
#include "ir/graph.h"

#include <map>
#include <set>
#include <tuple>

namespace rondel::ir {

/// Names for the extents of a loop's states that differ from trip to trip, while the body is
/// inferred until the types of the states hold. A name is the extent in the current trip. Two
/// extents share a name while they begin equal and, if they are equal before a trip, are equal
/// after it: by induction they are equal in each trip.
class ChangingExtents {
 public:
  /// `both`: the join of the types of a state, as it is known so far, and of its next value.
  /// Returns the same type with names for unknown extents.
  Type named(ValueId state, const Type& initial, const Type& known, const Type& next,
             const Type& both);
  /// Called when the types of all states have been joined once.
  void next_round() { first_of_key_.clear(); }
  const std::set<Symbol>& names() const { return names_; }
  /// The type of a value that leaves the loop: names are valid in the loop only.
  Type outside(const Type&) const;
  /// The type of a state after the last trip. An extent that grows by the same number in each trip
  /// is known then if the number of trips is; others get names if `name_others`: what shrinks needs
  /// the memory of its first value to the end. Equal states are equal then, too.
  Type after(const Type& initial, const Type& state, const Type& next, const Extent& trips,
             bool name_others) const;

 private:
  /// What two extents must have in common to share a name: the initial extent, the extent after a
  /// trip, and the extent that was known before.
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, Extent> first_of_key_;
  std::set<Symbol> names_;
};

}  // namespace rondel::ir
