#pragma once
#include "base/fork.h"

#include <atomic>
#include <cstdint>
#include <memory>

namespace rondel {

/// The number of cores that this process may use.
int core_count();

/// While the scope lasts, work that this thread divides is shared by at most so many threads. 0:
/// the setting stays as it is, by default one thread per core. The setting is local to the calling
/// thread.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  const int before_;
};

/// The number of threads that may share the work of this thread.
int thread_count();

/// The threads that share the work of all runs of this process. There are as many as there are
/// cores beside the first, or more if a run asks for more. Threads of the caller that are in a
/// `Turn` count, too: a run gets no help while as many threads are at work as there are cores.
/// Thread-safe. The child of a fork has threads of its own.
class ThreadPool : ForkAware {
 public:
  static ThreadPool& of_process();

  /// While the scope lasts, its thread counts as one that is at work.
  class Turn {
   public:
    Turn();
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
  };

  /// Calls part(k) for each k in [0, parts), on this thread and on at most `threads` - 1 others,
  /// and returns when all calls have returned. All have the arithmetic of this thread; a thread of
  /// the pool keeps it until its next job. The parts begin in ascending order. If some throw, later
  /// parts may not begin, and the exception of the least of them is rethrown. Within a part, all
  /// parts of another `run` are run by the same thread.
  template <class Part> void run(int threads, std::int64_t parts, const Part& part) {
    run(
        threads, parts, [](const void* p, std::int64_t k) { (*static_cast<const Part*>(p))(k); },
        &part);
  }

 private:
  struct Job;
  struct State;
  using Call = void (*)(const void* part, std::int64_t k);

  ThreadPool();
  void run(int threads, std::int64_t parts, Call, const void* part);
  void before_fork() override;
  void after_fork_in_parent() override;
  void after_fork_in_child() override;

  State* state_;  ///< never freed: threads may wait in it while the process exits
  ForkRegistration registration_;
};

}  // namespace rondel
