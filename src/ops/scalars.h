#pragma once
#include "ops/meaning.h"

/// Helpers for operands that are one number (rank 0, or rank 1 with one element), and for row-major
/// positions.
namespace rondel::ops {

/// The only element of input k, loaded in a program.
inline Ex scalar_input(Emitter& e, std::size_t k) {
  return e.load(k, Indices(static_cast<std::size_t>(e.rank(k)), e.builder().index(0)));
}
/// The index of the element at row-major position i of a tensor with these extents.
Indices unravel(Ex i, std::span<const Ex> extents);
/// The first element of a tensor of numbers, as an integer or as a float.
std::int64_t integer_value(const Tensor&);
double float_value(const Tensor&);

}  // namespace rondel::ops
