#pragma once
#include "kernels/kernel.h"

#include <rondel/dtype.h>

namespace rondel::kernels {

struct TopK {
  std::int64_t axis = -1;
  bool largest = true;
};

/// The k greatest (or least) elements along an axis and their indices, sorted; of equal elements,
/// the earlier one first. NaN is the greatest; 0 equals -0. Inputs: x (floats of at least 16 bits,
/// or integers of at least 8 bits) and k (i64, one element). Outputs: values, indices (i64). Fails
/// unless k equals the outputs' extent along the axis and is at most the extent of x.
///
/// This is the reference: it sorts positions by comparing elements.
std::shared_ptr<const SizedKernel> top_k(const TopK&, DType, std::size_t rank);
/// A faster version with the same results. A small k takes one pass that keeps the best k elements
/// so far; a larger k takes a selection over integer keys that have the order of the elements.
std::shared_ptr<const SizedKernel> fast_top_k(const TopK&, DType, std::size_t rank);

}  // namespace rondel::kernels
