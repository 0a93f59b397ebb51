#pragma once
#include "ops/meaning.h"

/// Operands that are one number (of rank 0 or 1), and positions as one number.
namespace rondel::ops {

/// Its element, in a program.
inline Ex scalar_input(Emitter& e, std::size_t k) {
  return e.load(k, Indices(static_cast<std::size_t>(e.rank(k)), e.builder().index(0)));
}
/// Position i, counted row-major, as an index an axis.
Indices unravel(Ex i, std::span<const Ex> extents);
/// The first element of a tensor whose value is known: of integers; of floats.
std::int64_t integer_value(const Tensor&);
double float_value(const Tensor&);

}  // namespace rondel::ops
