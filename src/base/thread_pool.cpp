#include "base/thread_pool.h"

#include "base/arithmetic.h"
#include "base/named_thread.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <system_error>
#include <vector>

namespace rondel {
namespace {

/// How long a thread looks for work before it sleeps. To wake it takes tens of microseconds; the
/// trips of a loop follow each other faster.
constexpr auto spin_time = std::chrono::microseconds(100);

/// The most threads of a job, however many are asked for.
constexpr std::int64_t most_threads = 256;

/// The setting of this thread; 0: one per core.
thread_local int threads_allowed = 0;

/// Whether this thread is in a part.
thread_local bool in_part = false;

/// Tells the processor that this thread waits in a loop.
void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits until `done()`, but not much longer than `spin_time`. Returns the last answer.
template <class Done> bool spin_until(const Done& done) {
  const auto end = std::chrono::steady_clock::now() + spin_time;
  do {
    for (int i = 0; i < 64; ++i) {
      if (done()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

/// Locks a mutex that is held for less time than it takes to sleep and to be woken.
void acquire(std::unique_lock<std::mutex>& lock) {
  constexpr int tries = 500;
  for (int i = 0; i < tries; ++i) {
    if (lock.try_lock()) return;
    relax();
  }
  lock.lock();
}

}  // namespace

int core_count() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? std::max(CPU_COUNT(&cores), 1) : 1;
}

ThreadScope::ThreadScope(int threads) : before_(threads_allowed) {
  if (threads > 0) threads_allowed = threads;
}
ThreadScope::~ThreadScope() { threads_allowed = before_; }

int thread_count() { return threads_allowed > 0 ? threads_allowed : core_count(); }

/// The parts of one run. Lives in the stack of the thread that runs it.
struct ThreadPool::Job {
  Job(std::int64_t count, Call c, const void* p) : parts(count), call(c), part(p) {}

  const std::int64_t parts;
  const Call call;
  const void* const part;
  const Arithmetic arithmetic = Arithmetic::of_thread();
  std::atomic<std::int64_t> next = 0;
  std::atomic<int> inside = 0;  ///< threads of the pool; changed under the state's mutex only
  int room = 0;                 ///< how many more threads may enter
  std::mutex failing;
  std::int64_t failed = std::numeric_limits<std::int64_t>::max();
  std::exception_ptr failure = {};

  void work() {
    in_part = true;
    for (;;) {
      const std::int64_t k = next.fetch_add(1, std::memory_order_relaxed);
      if (k >= parts) break;
      try {
        call(part, k);
      } catch (...) { fail(k); }
    }
    in_part = false;
  }
  void fail(std::int64_t k) {
    next.store(parts, std::memory_order_relaxed);
    const std::lock_guard lock(failing);
    if (k >= failed) return;
    failed = k;
    failure = std::current_exception();
  }
};

struct ThreadPool::State {
  std::mutex mutex;
  std::condition_variable offered, left;
  std::vector<Job*> jobs;  ///< with room for more threads
  std::atomic<std::uint32_t> offers = 0;
  std::atomic<int> busy = 0;  ///< threads in a turn, and threads of the pool in a job
  int threads = 0, asleep = 0;

  /// Offers the job to `wanted` threads of the pool, or to fewer: no more than `most` threads shall
  /// be at work. Returns false if it is offered to none.
  bool offer(Job& job, int wanted, int most) {
    int wake = 0;
    {
      std::unique_lock lock(mutex, std::defer_lock);
      acquire(lock);
      job.room = std::min(wanted, most - std::max(busy.load(std::memory_order_relaxed), 1));
      if (job.room <= 0) return false;
      start_threads(job.room);
      jobs.push_back(&job);
      wake = std::min(asleep, job.room);
      offers.fetch_add(1, std::memory_order_release);
    }
    for (; wake > 0; --wake) offered.notify_one();
    return true;
  }

  void start_threads(int wanted) {
    try {
      for (; threads < wanted; ++threads) named_thread("rondel-pool", [this] { serve(); }).detach();
    } catch (const std::system_error&) {}  // the threads that there are do the work
  }

  [[noreturn]] void serve() {
    std::unique_lock lock(mutex);
    for (;;) {
      while (Job* const job = enter()) {
        lock.unlock();
        job->arithmetic.set();
        job->work();
        acquire(lock);
        busy.fetch_sub(1, std::memory_order_relaxed);
        // The last access of the job: its thread may go on from here.
        if (job->inside.fetch_sub(1, std::memory_order_release) == 1) left.notify_all();
      }
      const std::uint32_t seen = offers.load(std::memory_order_relaxed);
      const auto more = [&] { return offers.load(std::memory_order_acquire) != seen; };
      lock.unlock();
      const bool found = busy.load(std::memory_order_relaxed) < core_count() && spin_until(more);
      acquire(lock);
      if (found || more()) continue;
      ++asleep;
      offered.wait(lock, more);
      --asleep;
    }
  }

  Job* enter() {
    const auto job = std::ranges::find_if(jobs, [](const Job* j) {
      return j->room > 0 && j->next.load(std::memory_order_relaxed) < j->parts;
    });
    if (job == jobs.end()) return nullptr;
    --(*job)->room;
    (*job)->inside.fetch_add(1, std::memory_order_relaxed);
    busy.fetch_add(1, std::memory_order_relaxed);
    return *job;
  }

  /// No more threads enter; returns when those that did have left.
  void withdraw(Job& job) {
    {
      std::unique_lock lock(mutex, std::defer_lock);
      acquire(lock);
      std::erase(jobs, &job);
    }
    const auto alone = [&] { return job.inside.load(std::memory_order_acquire) == 0; };
    if (spin_until(alone)) return;
    std::unique_lock lock(mutex);
    left.wait(lock, alone);
  }
};

ThreadPool::ThreadPool() : state_(new State), registration_(*this) {}

ThreadPool& ThreadPool::of_process() {
  static auto* pool = new ThreadPool;
  return *pool;
}

/// Made when the library is loaded: a fork must not find it half made.
[[maybe_unused]] static const ThreadPool& made_early = ThreadPool::of_process();

ThreadPool::Turn::Turn() { of_process().state_->busy.fetch_add(1, std::memory_order_relaxed); }
ThreadPool::Turn::~Turn() { of_process().state_->busy.fetch_sub(1, std::memory_order_relaxed); }

void ThreadPool::run(int threads, std::int64_t parts, Call call, const void* part) {
  if (threads <= 1 || parts <= 1 || in_part) {
    for (std::int64_t k = 0; k < parts; ++k) call(part, k);
    return;
  }
  Job job(parts, call, part);
  const auto wanted = static_cast<int>(std::min({std::int64_t{threads}, parts, most_threads})) - 1;
  const bool offered = state_->offer(job, wanted, std::max(threads, core_count()));
  job.work();
  if (offered) state_->withdraw(job);
  if (job.failure) std::rethrow_exception(job.failure);
}

void ThreadPool::before_fork() { state_->mutex.lock(); }
void ThreadPool::after_fork_in_parent() { state_->mutex.unlock(); }
void ThreadPool::after_fork_in_child() { state_ = new State; }

}  // namespace rondel
