#pragma once
#include "kernels/conv.h"

namespace rondel::kernels {

/// Whether a convolution has few places and so large windows that it is a few long products: no
/// library's convolution is good at it, nor can one be ended in between. `y`: the result's shape.
bool few_large_windows(const Shape& y, const Shape& w);
/// Such a convolution of f32: x and w row-major, `bias` undefined or [maps].
void conv_windows(UnsizedCall&, const ConvSpec&, const Tensor& x, const Tensor& w,
                  const Tensor& bias, const Tensor& y);

}  // namespace rondel::kernels
