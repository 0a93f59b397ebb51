#pragma once
#include "base/error.h"
#include "ops/type_rules.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace rondel::ops {

/// No pad is larger, nor smaller than its negative: sums of an extent and two such numbers fit into
/// 64 bits.
inline constexpr std::int64_t largest_pad = std::numeric_limits<std::int64_t>::max() / 4;

/// The numbers of elements added before and after each axis; negative numbers remove elements.
template <class Number> struct Padding { std::vector<Number> before, after; };

/// The padding of a tensor of this rank. `pads`: those before the listed axes, then those after
/// them. `axes`: all if they are left out. `none`: for axes that are not listed. Throws
/// Error(caller) if there are not two pads for each axis.
template <class Number>
Padding<Number> padding_of(const std::vector<Number>& pads, const std::optional<ir::Ints>& axes,
                           std::int64_t rank, Number none) {
  const std::vector<Number> all(static_cast<std::size_t>(rank), none);
  Padding<Number> m{all, all};
  const std::size_t n = axes ? axes->size() : static_cast<std::size_t>(rank);
  require(pads.size() == 2 * n, "{} pads for {} axes; expected two per axis", pads.size(), n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto a = axes ? static_cast<std::size_t>(normal_axis((*axes)[i], rank)) : i;
    m.before[a] = pads[i];
    m.after[a] = pads[n + i];
  }
  return m;
}

}  // namespace rondel::ops
