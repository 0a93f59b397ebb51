#pragma once
#include <cstdint>

namespace rondel {

/// Whether a tensor of `rank` axes has this one. A negative one counts from the end.
constexpr bool has_axis(std::int64_t axis, std::int64_t rank) {
  return axis >= -rank && axis < rank;
}

/// The axis, which there is, counted from the front.
constexpr std::int64_t axis_from_front(std::int64_t axis, std::int64_t rank) {
  return axis < 0 ? axis + rank : axis;
}

}  // namespace rondel
