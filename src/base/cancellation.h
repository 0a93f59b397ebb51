#pragma once
#include <rondel/error.h>

#include <atomic>
#include <chrono>
#include <mutex>

/// Cancellation of the work that prepares a run. Preparing takes long where bodies are large: types
/// are inferred for the extents at hand, programs are lowered, verified and decoded. Such code
/// calls `check_cancellation` every few microseconds, so that a deadline or a cancelled run ends
/// it.
namespace rondel {

/// While it lives, `check_cancellation` on this thread calls `check`. It throws an Error for which
/// `ends_run` is true when the run is to end.
class CancellationScope {
 public:
  using Check = void (*)(const void* of);
  CancellationScope(Check check, const void* of);
  ~CancellationScope();
  CancellationScope(const CancellationScope&) = delete;
  CancellationScope& operator=(const CancellationScope&) = delete;

 private:
  Check check_before_;
  const void* of_before_;
};

/// Does nothing outside of runs: while a model is loaded, and on threads of our own.
void check_cancellation();

/// Whether an error ends the run. Code that takes errors for an answer ("this cannot be lowered")
/// must pass such errors on.
inline bool ends_run(const Error& e) {
  return e.blame() == Blame::deadline || e.blame() == Blame::cancelled;
}

/// Work whose result is kept for later runs, and which is cancelled at most once. When a run's end
/// has cancelled it, the next run finishes it whatever its deadline. Otherwise runs with deadlines
/// shorter than the work would start it again forever.
class ResumableWork {
 public:
  template <class F> auto run(const F& f) {
    if (cancelled_.exchange(false)) {
      const CancellationScope no_cancellation(nullptr, nullptr);
      return f();
    }
    try {
      return f();
    } catch (const Error& e) {
      if (ends_run(e)) cancelled_ = true;
      throw;
    }
  }

 private:
  std::atomic<bool> cancelled_{false};
};

/// Takes a lock that other runs may hold for long; the wait can be cancelled.
inline std::unique_lock<std::timed_mutex> lock_cancellably(std::timed_mutex& mutex) {
  std::unique_lock lock(mutex, std::defer_lock);
  while (!lock.try_lock_for(std::chrono::microseconds(300))) check_cancellation();
  return lock;
}

}  // namespace rondel
