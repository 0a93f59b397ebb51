#pragma once
#include "kernels/quad.h"

#include <cstdint>

namespace rondel::kernels {

/// The sums of one output channel at rows of output positions. T is float or double;
/// or Quad, where weights are of i8 and elements of x of u8 (`multiply_panel`).
template <class T> struct RowSums {
  const T* weights;
  const std::int64_t* offsets;  ///< in x, by weight
  std::int64_t count;           ///< number of weights
  T start;
  std::int64_t rows, columns;  ///< columns: at least those of one vector register
  const T* x;
  T* y;
  std::int64_t x_step, y_step;  ///< strides from one row to the next
};

/// y[r * y_step + j] = start + the sum over k, ascending, of weights[k] * x[offsets[k] + r * x_step
/// + j]. Multiplications and additions may be fused. Nothing else is read or written.
template <class T> void sum_rows(const RowSums<T>&);

}  // namespace rondel::kernels
