#pragma once

namespace rondel::kernels {

/// While the scope lasts, kernels that this thread calls use at most so many threads. 0: the
/// setting stays as it is, by default one thread per core. The setting is local to the calling
/// thread.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_ = 0;  ///< the previous setting; 0: the scope has not changed it
};

/// The number of threads that kernels called by this thread may use.
int thread_count();

}  // namespace rondel::kernels
