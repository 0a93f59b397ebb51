#pragma once
#include "kernels/unsized_kernel.h"

#include <array>
#include <optional>

namespace rondel::kernels {

struct Unique {
  std::optional<std::int64_t> axis;  ///< nullopt: x is flattened, and its elements are the slices
  bool sorted = true;                ///< sort the slices; false: keep the order of first occurrence
  std::array<bool, 4> wanted{};      ///< which outputs to compute
};

/// The distinct slices of x along an axis. Outputs: the distinct slices; for each, the index of its
/// first occurrence in x; for each slice of x, the index of its distinct slice; for each distinct
/// slice, its number of occurrences. Slices are equal if their elements are, so 0 equals -0, and
/// NaN equals nothing. Slices are sorted lexicographically, with NaN last, and complex numbers by
/// their real part first. Any dtype except floats of 8 bits or less.
void unique(UnsizedCall&, const Unique&);

}  // namespace rondel::kernels
