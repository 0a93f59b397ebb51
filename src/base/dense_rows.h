#pragma once
#include <rondel/tensor.h>

namespace rondel {

/// Whether a tensor is not contiguous, but the stride of its last axis is 1.
inline bool has_dense_rows(const Tensor& t) {
  return t.rank() > 0 && t.strides().back() == 1 && !t.contiguous();
}

}  // namespace rondel
