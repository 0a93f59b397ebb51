#pragma once
#include "ir/attributes.h"

#include <numeric>
#include <utility>

namespace rondel::ir {

/// The permutation of `rank` axes, two or more, that transposes matrices: the last two are swapped.
inline Ints last_axes_swapped(std::int64_t rank) {
  Ints axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes.end()[-1], axes.end()[-2]);
  return axes;
}

}  // namespace rondel::ir
