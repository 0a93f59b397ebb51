#pragma once
#include "ops/compose.h"

#include <vector>

/// Products and convolutions of quantized operands.
namespace rondel::ops {

/// The inputs of a matrix product: a and b, and the inputs that have one element, one for each row
/// of a (column of b), or the shape of a (b) with extent 1 along the summed axis.
struct ProductInputs {
  std::size_t a, b;
  std::vector<std::size_t> of_rows, of_columns;
};
/// Type rule of the matrix product over the last two axes of a and b, whose other axes are
/// broadcast; a vector is one row of a, or one column of b. Output 0 has dtype `result`.
void product_rule(ir::TypeContext&, const ProductInputs&, DType result);

/// Requires that the scale, input k, has no element that is NaN, infinite or negative, as far as
/// its value is known.
void require_sound_scale(const ir::TypeContext&, std::size_t k);
/// A tensor with one element, as a scalar.
ir::ValueId one_as_scalar(ir::Builder&, ir::ValueId);
/// `y`, made of x and `others`, scales and zero points that may not make it larger, in the shape of
/// x. A vector of one scale may have made an axis where x has none.
ir::ValueId in_own_shape(ir::Builder&, ir::ValueId y, ir::ValueId x,
                         std::initializer_list<ir::ValueId> others);
/// saturate(round(sums * scale) + zero_point), in the dtype of the zero point. `sums` is i32.
/// `scale` is multiplied in f32. The result has the shape of `sums`.
ir::ValueId requantized(ir::Builder&, ir::ValueId sums, ir::ValueId scale, ir::ValueId zero_point);
/// a_scale * b_scale / y_scale, in f32.
ir::ValueId product_scale(ir::Builder&, ir::ValueId a_scale, ir::ValueId b_scale,
                          ir::ValueId y_scale);

}  // namespace rondel::ops
