#pragma once
#include "kernels/kernel.h"
#include "kernels/window.h"

#include <rondel/dtype.h>

namespace rondel::kernels {

/// The greatest element under each window; NaN is greater than all numbers. Output 1, if given, is
/// the index of this element in the whole of x; of equal elements, the first. A window that covers
/// only padding gives 0 and index -1. Input x [n, channels, spatial...]: integers, and floats of at
/// least 16 bits; any number of spatial axes. This is the reference: one window at a time.
std::shared_ptr<const SizedKernel> max_pool(const PoolSpec&, DType);
/// The mean of the elements under each window. First each column (the elements along all axes but
/// the last) is summed, then the sums of the columns, each in order. Floats of at least 16 bits;
/// f16 and bf16 are summed in f32.
std::shared_ptr<const SizedKernel> average_pool(const PoolSpec&, DType);

/// Faster versions with the same results, bit for bit: many windows at a time.
std::shared_ptr<const SizedKernel> fast_max_pool(const PoolSpec&, DType);
std::shared_ptr<const SizedKernel> fast_average_pool(const PoolSpec&, DType);

}  // namespace rondel::kernels
