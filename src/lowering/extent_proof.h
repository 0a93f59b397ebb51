#pragma once
#include "ir/extent.h"

namespace rondel::lowering {

/// That `a` is at most `b`, or such multiples of them. The difference of long expressions is
/// unknown, and so is a multiple of a deep one, but each of them is not.
struct AtMost {
  ir::Integer a, b;
  std::int64_t times_a = 1, times_b = 1;
  bool operator==(const AtMost&) const = default;
};
/// Something that is certain about integers: one of these lists holds as a whole.
using Fact = std::vector<std::vector<AtMost>>;
/// What is certain about an integer with a name, besides that it is not negative.
using FactsOfName = std::function<std::vector<Fact>(ir::Symbol)>;

/// That `a` is at most the largest of the integers.
Fact at_most_largest(const ir::Integer& a, const ir::Integers&);

/// Whether `a` certainly is at most `b`, by contradiction: goes through all cases that maxima and
/// facts allow, and shows for each that the linear inequalities over products of names, maxima and
/// quotients have no solution if `a` is larger. False also if that takes too long.
bool certainly_at_most(const ir::Integer& a, const ir::Integer& b, const FactsOfName&);

}  // namespace rondel::lowering
