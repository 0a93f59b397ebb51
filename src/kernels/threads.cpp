#include "kernels/threads.h"

#include <omp.h>
#include <pthread.h>

namespace rondel::kernels {
namespace {

/// Whether this thread has been forked. OpenMP would wait for the threads of its team, which do not
/// exist in the child process. Other threads of the child create new teams.
thread_local bool alone = false;

void work_alone_after_fork() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    alone = true;
    omp_set_num_threads(1);
  });
  (void)registered;
}

}  // namespace

ThreadScope::ThreadScope(int threads) {
  work_alone_after_fork();
  if (threads <= 0 || alone) return;
  before_ = omp_get_max_threads();
  omp_set_num_threads(threads);
}

ThreadScope::~ThreadScope() {
  if (before_ > 0) omp_set_num_threads(before_);
}

int thread_count() { return omp_get_max_threads(); }

}  // namespace rondel::kernels
