#pragma once
#include "kernels/kernel.h"
#include "kernels/window.h"

#include <rondel/dtype.h>

namespace rondel::kernels {

/// y[n, m, o] = bias[m] + the sum over c and k, ascending, of x[n, c, o * stride + k * dilation -
/// begin] * w[m, c, k], with zeros outside x. Inputs x [n, c, spatial...], w [m, c / groups,
/// kernel...], bias? [m], of rank `rank` (bias: 1); any spatial rank; f64, f32, f16, bf16 (the
/// latter two summed in f32).
std::shared_ptr<const SizedKernel> conv(const ConvSpec&, DType, std::size_t rank);

/// The same of f32 through matrix products. Sums in another order: within 1e-5 of the sum of the
/// absolute products.
std::shared_ptr<const SizedKernel> fast_conv(const ConvSpec&, std::size_t rank);

}  // namespace rondel::kernels
