#pragma once
#include <rondel/error.h>

#include <atomic>
#include <chrono>
#include <mutex>

/// Preparing a run takes long where bodies are large: types are found for the extents at hand,
/// programs lowered, checked and decoded. Whoever does such work calls `look_around` as it goes on
/// (every few microseconds), so that a run that is told to end meanwhile does.
namespace rondel {

/// While it lives, `look_around` on this thread calls `look`, which throws an Error of whose kind
/// `ends_run` speaks when the run is to end.
class LookScope {
 public:
  using Look = void (*)(const void* of);
  LookScope(Look look, const void* of);
  ~LookScope();
  LookScope(const LookScope&) = delete;
  LookScope& operator=(const LookScope&) = delete;

 private:
  Look look_before_;
  const void* of_before_;
};

/// Nothing where no run is on: while a model is loaded, on threads of our own.
void look_around();

/// Whoever takes errors for an answer ("this cannot be lowered") lets such pass.
inline bool ends_run(const Error& e) {
  return e.blame() == Blame::deadline || e.blame() == Blame::cancelled;
}

/// Work whose result is kept for later runs. Where the end of a run has cut it short, the next run
/// finishes it whatever its deadline: else runs with deadlines shorter than the work would start it
/// anew for ever.
class Kept {
 public:
  template <class F> auto work(const F& f) {
    if (cut_.exchange(false)) {
      const LookScope whatever_the_deadline(nullptr, nullptr);
      return f();
    }
    try {
      return f();
    } catch (const Error& e) {
      if (ends_run(e)) cut_ = true;
      throw;
    }
  }

 private:
  std::atomic<bool> cut_{false};
};

/// Takes a lock under which other runs may work for long.
inline std::unique_lock<std::timed_mutex> lock_looking(std::timed_mutex& mutex) {
  std::unique_lock lock(mutex, std::defer_lock);
  while (!lock.try_lock_for(std::chrono::microseconds(300))) look_around();
  return lock;
}

}  // namespace rondel
