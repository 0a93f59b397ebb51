#pragma once
#include "kernels/kernel.h"

#include <rondel/dtype.h>

#include <array>

namespace rondel::kernels {

/// The operands a, b, and the zero points of a and b.
struct IntegerProduct {
  std::array<bool, 2> is_signed;    ///< a and b: whether elements are i8, else u8
  std::array<std::size_t, 4> rank;  ///< of all operands; omitted ones: 0
};

/// y = the matrix product of a - a_zero and b - b_zero over their last two axes, i32, exact; sums
/// wrap. The axes before them are broadcast; a vector is one row of a, or one column of b. A zero
/// point has one element, one for each row of a (column of b), or the shape of its operand with
/// extent 1 along the summed axis. Inputs: a, b, and the two zero points, which may be omitted.
///
/// This is the reference.
std::shared_ptr<const SizedKernel> integer_product(const IntegerProduct&);
/// The same results by `multiply_bytes`.
std::shared_ptr<const SizedKernel> fast_integer_product(const IntegerProduct&);

}  // namespace rondel::kernels
