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
  /// The input channels of a group, if `pack_weights` has packed w; else -1.
  std::int64_t packed_channels = -1;
};

/// The convolution of x - x_zero with w - w_zero, i32, exact; sums wrap. Padding is x_zero. Inputs:
/// x [n, channels, spatial...], w [m, channels / groups, kernel...], and two zero points that may
/// be omitted: that of x has one element, that of w one, or one for each output channel.
///
/// This is the reference.
std::shared_ptr<const SizedKernel> integer_conv(const IntegerConv&);
/// The same results by products of quads. Only this kernel takes packed weights.
std::shared_ptr<const SizedKernel> fast_integer_conv(const IntegerConv&);

/// Weights w [m, channels, kernel...] in the form that `fast_integer_conv` multiplies: i32 [m,
/// channels / 4, kernel...], rounded up.
std::shared_ptr<const SizedKernel> pack_weights(bool is_signed, std::size_t rank);

}  // namespace rondel::kernels
