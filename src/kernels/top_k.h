#pragma once
#include "kernels/kernel.h"

#include <rondel/dtype.h>

namespace rondel::kernels {

struct TopK {
  std::int64_t axis = -1;
  bool largest = true;
};

/// The k greatest (or least) elements along an axis and where they stood, in order, the earlier of
/// equals first; NaN counts as the greatest, 0 equals -0. Inputs x (any number), k (i64, one
/// element). Outputs values, i64 indices. Fails unless k is the outputs' extent along the axis, and
/// at most x's.
///
/// The reference sorts positions by comparing elements.
std::shared_ptr<const SizedKernel> top_k(const TopK&, DType, std::size_t rank);
/// The same results: for few of many, one pass that keeps the best so far; else a selection over
/// integers that order as the elements do.
std::shared_ptr<const SizedKernel> fast_top_k(const TopK&, DType, std::size_t rank);

}  // namespace rondel::kernels
