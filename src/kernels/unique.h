#pragma once
#include "kernels/unsized_kernel.h"

#include <array>
#include <optional>

namespace rondel::kernels {

struct Unique {
  std::optional<std::int64_t> axis;  ///< without one: the elements of x as a list
  bool sorted = true;                ///< else by where each stood first
  std::array<bool, 4> wanted{};      ///< which outputs
};

/// The slices of x along an axis, of equal ones the first. Outputs: they; where each stood first;
/// for each slice of x which one it is; how many are equal to each. Slices are equal when their
/// elements are, so that 0 equals -0, and NaN nothing. They are sorted by their elements in order,
/// NaN last, complex numbers by their real part first. Any dtype but floats of 8 bits and less.
void unique(UnsizedCall&, const Unique&);

}  // namespace rondel::kernels
