#pragma once
#include "kernels/kernel.h"
#include "kernels/window.h"

#include <rondel/dtype.h>

#include <array>

namespace rondel::kernels {

struct IntegerConv {
  ConvSpec conv;
  std::array<bool, 2> is_signed;           ///< x and w: whether elements are i8, else u8
  std::size_t rank;                        ///< of x and w
  std::array<std::size_t, 2> zero_rank{};  ///< of the zero points, 0 or 1
};

/// The convolution of x - x_zero with w - w_zero, i32, exact; sums wrap. Padding is x_zero. Inputs:
/// x [n, channels, spatial...], w [m, channels / groups, kernel...], and two zero points that may
/// be omitted: that of x has one element, that of w one, or one for each output channel.
///
/// This is the reference.
std::shared_ptr<const SizedKernel> integer_conv(const IntegerConv&);
/// The same results by `multiply_bytes`.
std::shared_ptr<const SizedKernel> fast_integer_conv(const IntegerConv&);

}  // namespace rondel::kernels
