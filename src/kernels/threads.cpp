#include "kernels/threads.h"

#include <omp.h>

namespace rondel::kernels {

ThreadScope::ThreadScope(int threads) {
  if (threads <= 0) return;
  before_ = omp_get_max_threads();
  omp_set_num_threads(threads);
}

ThreadScope::~ThreadScope() {
  if (before_ > 0) omp_set_num_threads(before_);
}

}  // namespace rondel::kernels
