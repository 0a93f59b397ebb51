#pragma once
#include "kernels/kernel.h"
#include "kernels/window.h"

#include <rondel/dtype.h>

namespace rondel::kernels {

/// The greatest element under each window (NaN wins) and, where output 1 is wanted, where it stood:
/// its index in the whole of x, the first of equals. Under a window that lies in padding alone: 0,
/// at -1. Input x [n, channels, spatial...]: integers, and floats of 16 bits and up; any spatial
/// rank. The reference goes through each window by itself.
std::shared_ptr<const SizedKernel> max_pool(const PoolSpec&, DType);
/// The mean of the elements under each window: each column (of all axes but the last) is summed by
/// itself, then the sums, each in order. Floats (narrow ones are summed in f32).
std::shared_ptr<const SizedKernel> average_pool(const PoolSpec&, DType);

/// The same results, bit for bit, a row of windows at a time.
std::shared_ptr<const SizedKernel> fast_max_pool(const PoolSpec&, DType);
std::shared_ptr<const SizedKernel> fast_average_pool(const PoolSpec&, DType);

}  // namespace rondel::kernels
