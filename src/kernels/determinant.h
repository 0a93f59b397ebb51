#pragma once
#include "kernels/kernel.h"

#include <rondel/dtype.h>

namespace rondel::kernels {

/// The determinants of the matrices that the last two axes of x hold, by elimination with partial
/// pivoting. x: a float of at least 16 bits, of rank `rank`; f16 and bf16 are computed in f32. The
/// determinant of a matrix without elements is 1.
std::shared_ptr<const SizedKernel> determinant(DType, std::size_t rank);

}  // namespace rondel::kernels
