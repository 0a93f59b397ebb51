#pragma once
#include "kernels/kernel.h"

#include <rondel/dtype.h>

#include <array>

namespace rondel::kernels {

/// The operands a, b, and the zero points of a and b.
struct IntegerProduct {
  std::array<bool, 2> is_signed;    ///< a and b: whether elements are i8, else u8
  std::array<std::size_t, 4> rank;  ///< of all operands; omitted ones: 0
  /// The columns of b, if `pack_panels` has packed b; else -1.
  std::int64_t packed_columns = -1;
};

/// y = the matrix product of a - a_zero and b - b_zero over their last two axes, i32, exact; sums
/// wrap. The axes before them are broadcast; a vector is one row of a, or one column of b. A zero
/// point has one element, one for each row of a (column of b), or the shape of its operand with
/// extent 1 along the summed axis. Inputs: a, b, and the two zero points, which may be omitted.
///
/// This is the reference.
std::shared_ptr<const SizedKernel> integer_product(const IntegerProduct&);
/// The same results by products of quads. Only this kernel takes packed operands.
std::shared_ptr<const SizedKernel> fast_integer_product(const IntegerProduct&);

/// Columns of a packed panel.
constexpr std::int64_t packed_panel_columns = 32;
/// Matrices b [..., depth, columns] as the panels that `fast_integer_product` multiplies, on any
/// processor: i32 [..., columns / packed_panel_columns, depth / 4, packed_panel_columns], rounded
/// up.
std::shared_ptr<const SizedKernel> pack_panels(bool is_signed, std::size_t rank);

}  // namespace rondel::kernels
