#pragma once
#include "kernels/kernel.h"
#include "kernels/window.h"

#include <rondel/dtype.h>

namespace rondel::kernels {

/// y[n, m, o] = bias[m] + the sum over c and k, ascending, of x[n, c, o * stride + k * dilation -
/// begin] * w[m, c, k], with zeros outside x. Inputs: x [n, c, spatial...] and w [m, c / groups,
/// kernel...] of rank `rank`, and optionally bias [m]. Any number of spatial axes. Dtypes f64, f32,
/// f16, bf16; f16 and bf16 are summed in f32.
std::shared_ptr<const SizedKernel> conv(const ConvSpec&, DType, std::size_t rank);

/// The same by matrix products. The order of the sums differs: an element differs from that of
/// `conv`, before it is rounded to f16 or bf16, by at most 80 times the epsilon of the type of the
/// sums (1e-5 for f32) times the sum of the absolute products.
std::shared_ptr<const SizedKernel> fast_conv(const ConvSpec&, DType, std::size_t rank);

}  // namespace rondel::kernels
