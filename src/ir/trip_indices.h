#pragma once
#include "ir/extent.h"

#include <unordered_map>

namespace rondel::ir {

/// The trip indices of loops as symbols. What a loop body computes from its trip index, such as the
/// bounds of a slice, is then an expression, and its least value over all trips can be found.
class TripIndices {
 public:
  /// `index` counts from 0 to `last`, which may depend on the indices of outer loops. If the loop
  /// makes no trip, `last` is negative, and every statement about all trips is true.
  void add(Symbol index, const Integer& last);
  bool contains(Symbol name) const { return last_.contains(name); }
  /// Whether the integer depends on a trip index.
  bool changes(const Integer&) const;
  /// Whether the integer is at least 0 in every trip, for all values of the other names in it.
  /// False if this cannot be shown.
  bool never_negative(const Integer&) const;
  /// The same integer in every trip, without maxima of which one side is known to be the greater.
  Integer simplified(const Integer&) const;

 private:
  std::unordered_map<Symbol, Integer> last_;
};

}  // namespace rondel::ir
