#pragma once
#include <rondel/error.h>

#include <atomic>
#include <chrono>
#include <mutex>

/// Cancellation of the work that prepares a run. Preparation takes long if loop bodies are large:
/// types are inferred for the shapes of the run, and programs are lowered, verified and decoded.
/// Such code calls `check_cancellation` every few microseconds, so that a deadline or a cancelled
/// run ends it.
namespace rondel {

/// While this object lives, `check_cancellation` on this thread calls `check(context)`. If the run
/// must end, `check` throws an Error for which `ends_run` is true. Scopes nest.
class CancellationScope {
 public:
  using Check = void (*)(const void* context);
  CancellationScope(Check check, const void* context);
  ~CancellationScope();
  CancellationScope(const CancellationScope&) = delete;
  CancellationScope& operator=(const CancellationScope&) = delete;

 private:
  Check previous_check_;
  const void* previous_context_;
};

/// Calls the check of the innermost CancellationScope of this thread. Without a scope (while a
/// model is loaded, or on threads of this library) it does nothing.
void check_cancellation();

/// Whether an error ends the run. Code that treats a caught error as an answer ("this cannot be
/// lowered") must rethrow such errors.
inline bool ends_run(const Error& e) {
  return e.blame() == Blame::deadline || e.blame() == Blame::cancelled;
}

/// Work whose result is kept for later runs. It is cancelled at most once: after a cancellation,
/// the next run finishes it, whatever the deadline of that run. Otherwise runs with deadlines
/// shorter than the work would restart it forever.
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

/// Locks a mutex that other runs may hold for a long time; the wait can be cancelled.
inline std::unique_lock<std::timed_mutex> lock_cancellably(std::timed_mutex& mutex) {
  std::unique_lock lock(mutex, std::defer_lock);
  while (!lock.try_lock_for(std::chrono::microseconds(300))) check_cancellation();
  return lock;
}

}  // namespace rondel
