#pragma once
#include "kernels/unsized_kernel.h"
#include "kernels/window.h"

namespace rondel::kernels {

struct ConvSpec {
  WindowSpec window;
  std::int64_t groups = 1;
};

/// y[n, m, o] = bias[m] + the sum over c and k, ascending, of x[n, c, o * stride + k * dilation -
/// begin] * w[m, c, k], with zeros outside x. Inputs x [n, c, spatial...], w [m, c / groups,
/// kernel...], bias? [m]; any spatial rank; f64, f32, f16, bf16 (the latter two summed in f32).
void conv(UnsizedCall&, const ConvSpec&);

/// Extents of the result for these of x and w.
Shape conv_shape(const ConvSpec&, const Shape& x, const Shape& w);

}  // namespace rondel::kernels
