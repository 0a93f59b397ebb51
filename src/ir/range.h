#pragma once
#include "ir/extent.h"

namespace rondel::ir {

/// Integers between which a value certainly is; unknown where there is no bound.
struct Range {
  Integer least, most;
};
/// The range of a name; nothing for a name that stands for itself.
using RangeOfName = std::function<std::optional<Range>(Symbol)>;

/// The greatest value of an expression whose names have these ranges; unknown if there is no bound.
Integer greatest(const Integer&, const RangeOfName&);
/// Whether the expression certainly is at most 0.
bool never_positive(const Integer&, const RangeOfName&);

/// Whether arithmetic in 64 bits gives this integer, instead of wrapping around: whether it is
/// small enough if the products of names in it are sizes, at most `largest_listed`.
bool fits_with_sizes(const Integer&);

}  // namespace rondel::ir
