#pragma once
#include <rondel/tensor.h>

namespace rondel {

/// to = from, element by element, of tensors of the same type and shape, in an order in which
/// memory is read and written as it lies: axes that are adjacent in both are one, and axes of which
/// one is adjacent in `from` and another one in `to` are copied in square blocks. The tensors do
/// not overlap.
void copy_strided(const Tensor& from, const Tensor& to);

}  // namespace rondel
