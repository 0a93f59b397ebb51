#pragma once
#include <cstdint>

namespace rondel {

/// Whether `axis` is one of `rank` axes. A negative axis counts from the end.
constexpr bool has_axis(std::int64_t axis, std::int64_t rank) {
  return axis >= -rank && axis < rank;
}

/// A valid axis (`has_axis`), counted from the front.
constexpr std::int64_t axis_from_front(std::int64_t axis, std::int64_t rank) {
  return axis < 0 ? axis + rank : axis;
}

}  // namespace rondel
