#pragma once
#include "kernels/kernel_call.h"

namespace rondel::kernels {

struct TopK {
  std::int64_t axis = -1;
  bool largest = true;
};

/// The k greatest (or least) elements along an axis and where they stood, in order, the earlier of
/// equals first; NaN counts as the greatest. Inputs x (any number), k (i64). Outputs values, i64
/// indices. k is at most the extent.
void top_k(KernelCall&, const TopK&);

}  // namespace rondel::kernels
