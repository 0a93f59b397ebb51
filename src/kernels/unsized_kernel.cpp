#include "kernels/unsized_kernel.h"

namespace rondel::kernels {

Tensor UnsizedCall::make(std::size_t j, DType dtype, Shape shape) {
  Value& out = outputs_[j];
  if (out.is_tensor() && out.tensor().dtype() == dtype && out.tensor().shape() == shape &&
      out.tensor().contiguous())
    return out.tensor();
  Tensor made = allocate_(dtype, std::move(shape));
  out = made;
  return made;
}

}  // namespace rondel::kernels
