#pragma once

namespace rondel::kernels {

/// How many threads kernels may use on this thread while the scope lasts; 0: as many as there are
/// cores. OpenMP keeps the answer by calling thread.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_ = 0;  ///< 0: nothing was set
};

/// How many threads kernels may use on this thread now.
int thread_count();

}  // namespace rondel::kernels
