#pragma once
#include <rondel/tensor.h>

#include <optional>

namespace rondel::mdf {

/// The tensor as `dtype`, broadcast to `shape`. Its first `leading` axes stay in front, as those of
/// `shape`. Nothing if the dtype (i64 or f64) cannot hold what the tensor's dtype can, or if its
/// shape does not broadcast to `shape`.
std::optional<Tensor> widened(const Tensor&, DType dtype, const Shape& shape,
                              std::size_t leading = 0);

}  // namespace rondel::mdf
