#pragma once
#include "kernels/kernel.h"
#include "kernels/unsized_kernel.h"

#include <rondel/tensor.h>

#include <span>
#include <string>

namespace rondel::kernels {

/// y = the position of each element of x (of rank `rank`, row-major or not) among the keys, i64;
/// the number of keys where there is none. Of equal keys, the first is found; NaN equals NaN. The
/// keys are a list of numbers of the dtype of x.
std::shared_ptr<const SizedKernel> key_position(const Tensor& keys, std::size_t rank);

/// The same for texts.
UnsizedKernel text_position(std::span<const std::string> keys);

}  // namespace rondel::kernels
