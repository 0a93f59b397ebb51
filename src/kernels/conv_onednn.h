#pragma once
#include "kernels/conv.h"

#include <memory>

namespace rondel::kernels {

/// `conv` through oneDNN for f32 and 1 to 3 spatial axes; others go to `conv`. Sums in another
/// order: within 1e-5 of the sum of the absolute products. Safe to call from many threads.
class FastConv {
 public:
  explicit FastConv(ConvSpec);
  void operator()(UnsizedCall&) const;

 private:
  struct Cache;
  class InParts;
  ConvSpec spec_;
  std::shared_ptr<Cache> cache_;
};

}  // namespace rondel::kernels
