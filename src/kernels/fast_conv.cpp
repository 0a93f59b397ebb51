#include "kernels/conv.h"
#include "kernels/im2col.h"
#include "kernels/narrow_floats.h"
#include "kernels/widened_conv.h"

namespace rondel::kernels {

/// f16 and bf16 are converted to f32, image by image, and the results are rounded once.
std::shared_ptr<const SizedKernel> fast_conv(const ConvSpec& spec, DType t, std::size_t rank) {
  using namespace convolution;
  std::shared_ptr<const SizedKernel> kernel;
  with_float_type(t, [&](auto zero) {
    using T = decltype(zero);
    using Algorithm =
        std::conditional_t<std::is_floating_point_v<T>, Im2col<T>, Widened<T, Im2col<float>>>;
    kernel = std::make_shared<Conv<T, Algorithm>>(spec, rank);
  });
  return kernel;
}

}  // namespace rondel::kernels
