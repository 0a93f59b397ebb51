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

/// Whether names are extents of one tensor, on different axes.
using AreOfOneTensor = std::function<bool(std::span<const Symbol>)>;
/// Whether arithmetic in 64 bits gives this integer, instead of wrapping around: whether it is
/// small enough if no name in it exceeds `largest_listed`, and no product of extents of one tensor
/// `largest_size`. (A tensor without elements could have larger extents. None has.)
bool never_wraps(const Integer&, const AreOfOneTensor&);
inline constexpr std::int64_t largest_size = std::int64_t{1} << 40;

}  // namespace rondel::ir
