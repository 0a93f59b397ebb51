#pragma once
#include "kernels/kernel.h"

#include <rondel/dtype.h>

namespace rondel::kernels {

struct RoiAlign {
  bool half_pixel = true, mean = true;
  std::int64_t height = 1, width = 1, samples = 0;  ///< samples 0: as many as a bin has elements
  double scale = 1;
};

/// Each region of interest is cut into height x width bins; a bin is the mean, or the greatest, of
/// interpolated samples. Inputs: x [n, channels, height, width], regions [count, 4] (left, top,
/// right, bottom) of the dtype of x, and the batch element of each (i64[count]). Floats of at least
/// 16 bits; f16 and bf16 are computed in f32. Of the four elements that an interpolation weights,
/// `max` takes each for itself, as ONNX Runtime does. Fails if a batch element is not there.
std::shared_ptr<const SizedKernel> roi_align(const RoiAlign&, DType);

/// The greatest element of each of height x width bins of each region; a bin without elements gives
/// 0. Inputs: x as above, and regions [count, 5] (batch element, left, top, right, bottom), which
/// are times `scale` and rounded to whole elements. Fails if a batch element is not there.
std::shared_ptr<const SizedKernel> max_roi_pool(std::int64_t height, std::int64_t width,
                                                double scale, DType);

}  // namespace rondel::kernels
