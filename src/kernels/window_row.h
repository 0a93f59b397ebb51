#pragma once
#include <cstdint>

namespace rondel::kernels {

/// Neighbouring weights of one row of a window that slides along a row of x.
template <class T> struct WindowRow {
  const T* weights;
  std::int64_t count;             ///< number of weights
  std::int64_t stride, dilation;  ///< >= 1
  std::int64_t offset;            ///< index in x that the first weight reads for column 0
  std::int64_t extent;            ///< elements of the row of x
};

/// y[j] += the sum over k, ascending, of weights[k] * x[j * stride + k * dilation + offset] for j
/// in [from, to), with zeros outside x. Multiplications and additions may be fused. T is float or
/// double.
template <class T>
void add_window_row(const WindowRow<T>&, const T* x, T* y, std::int64_t from, std::int64_t to);

}  // namespace rondel::kernels
