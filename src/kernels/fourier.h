#pragma once
#include "kernels/kernel.h"

#include <rondel/dtype.h>

namespace rondel::kernels {

struct Fourier {
  bool inverse = false;
  bool onesided = false;
};

/// Discrete Fourier transforms along an axis. Input x [..., signal, ..., 1 or 2]: real numbers, or
/// real and imaginary parts; floats of at least 16 bits, all computed in f64. The
/// optional inputs are the length of the transform (i32 or i64, one element) and the axis (i64, one
/// element; -2 if omitted). x is cut, or continued with zeros, to the length.
/// - forward: y holds length complex numbers along the axis; `onesided`: the first length / 2 + 1.
/// - inverse: divided by the length; `onesided`: x holds the first length / 2 + 1 numbers of a
///   spectrum with Hermitian symmetry, and y is real.
/// Any length takes O(n log n) steps. Fails unless the extents of y follow from the length.
std::shared_ptr<const SizedKernel> fourier(const Fourier&, DType x, DType length, std::size_t rank);

}  // namespace rondel::kernels
