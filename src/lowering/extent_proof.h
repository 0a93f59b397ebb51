#pragma once
#include "ir/extent.h"

namespace rondel::lowering {

/// Something that is certain about integers: all integers of one of these lists are at most 0.
using Fact = std::vector<ir::Integers>;
/// What is certain about an integer with a name, besides that it is not negative.
using FactsOfName = std::function<std::vector<Fact>(ir::Symbol)>;

/// That `a` is at most the largest of the integers.
Fact at_most_largest(const ir::Integer& a, const ir::Integers&);

/// Whether `a` certainly is at most `b`, by contradiction: goes through all cases that maxima and
/// facts allow, and shows for each that the linear inequalities over products of names, maxima and
/// quotients have no solution if `a` is larger. False also if that takes too long.
bool certainly_at_most(const ir::Integer& a, const ir::Integer& b, const FactsOfName&);

}  // namespace rondel::lowering
