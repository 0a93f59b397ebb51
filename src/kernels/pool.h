#pragma once
#include "kernels/kernel_call.h"
#include "kernels/window.h"

namespace rondel::kernels {

struct PoolSpec {
  WindowSpec window;
  bool column_major = false;       ///< how indices count the spatial axes
  bool count_include_pad = false;  ///< padding counts in an average
};

/// Extents of the result for x [n, channels, spatial...].
Shape pool_shape(const PoolSpec&, const Shape& x);

/// The greatest element under each window (NaN wins) and, where output 1 is wanted, where it stood:
/// its index in the whole of x, the first of equals. Under a window that lies in padding alone: 0,
/// at -1. Integers, and floats of 16 bits and up; any spatial rank.
void max_pool(KernelCall&, const PoolSpec&, bool indices);
/// The mean of the elements under each window. Floats (narrow ones are summed in f32).
void average_pool(KernelCall&, const PoolSpec&);

}  // namespace rondel::kernels
