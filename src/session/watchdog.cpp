#include "session/watchdog.h"

#include "base/error.h"
#include "base/fork.h"
#include "base/named_thread.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace rondel::session {
namespace {

using Clock = std::chrono::steady_clock;

/// How often terminate flags are polled.
constexpr auto poll = std::chrono::microseconds(300);
/// Deadlines further away than this are ignored.
constexpr double longest_s = 1e9;

/// How often an interruptible run is polled for an interrupt.
constexpr auto pulse = std::chrono::milliseconds(20);

struct WatchedRun {
  runtime::Run* run;
  std::optional<Clock::time_point> deadline;
  const std::atomic<bool>* terminate;
  const std::function<bool()>* interrupted;
  Clock::time_point ask;  ///< when `interrupted` is called next

  /// Sets the run's stop flag if its deadline or its flag ends the run; returns the time of the
  /// next poll.
  Clock::time_point poll_run(Clock::time_point now) {
    auto next = Clock::time_point::max();
    if (terminate != nullptr) {
      if (terminate->load(std::memory_order_relaxed)) set(runtime::Stop::cancelled);
      next = now + poll;
    }
    if (*interrupted) next = std::min(next, ask);
    if (deadline && *deadline <= now) set(runtime::Stop::deadline);
    else if (deadline) next = std::min(next, *deadline);
    return next;
  }

  void set(runtime::Stop why) {
    std::int32_t none = 0;
    run->stop.compare_exchange_strong(none, static_cast<std::int32_t>(why));
  }
};

/// The watchdog thread and the runs that it watches.
class WatchdogThread {
 public:
  /// Wakes the thread only if it would sleep past the time at which the run is polled next, so that
  /// watching a run of microseconds costs only a list entry.
  void add(WatchedRun w) {
    const auto now = Clock::now();
    const auto due = w.poll_run(now);
    const std::lock_guard lock(mutex_);
    watched_.push_back(w);
    if (due != Clock::time_point::max()) soonest_ = std::min(soonest_, due - now);
    if (!thread_.joinable()) thread_ = named_thread("rondel-watch", [this] { watch(); });
    if (due < wakes_) changed_.notify_one();
  }

  /// Waits until the run's `interrupted`, if it is being called, has returned.
  void remove(const runtime::Run* run) {
    std::unique_lock lock(mutex_);
    answered_.wait(lock, [&] { return asked_ != run; });
    std::erase_if(watched_, [run](const WatchedRun& w) { return w.run == run; });
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (true) {
      const auto now = Clock::now();
      wakes_ = soonest_ == never ? Clock::time_point::max() : now + soonest_;
      soonest_ = never;
      for (WatchedRun& w : watched_) wakes_ = std::min(wakes_, w.poll_run(now));
      if (ask_one(lock, now)) continue;
      if (wakes_ == Clock::time_point::max()) changed_.wait(lock);
      else changed_.wait_until(lock, wakes_);
    }
  }

  /// Calls `interrupted` of the run that has waited longest for it, if one is due. Other runs come
  /// and go meanwhile.
  bool ask_one(std::unique_lock<std::mutex>& lock, Clock::time_point now) {
    WatchedRun* due = nullptr;
    for (WatchedRun& w : watched_)
      if (*w.interrupted && w.ask <= now && (due == nullptr || w.ask < due->ask)) due = &w;
    if (due == nullptr) return false;
    due->ask = now + pulse;
    asked_ = due->run;
    WatchedRun one = *due;
    lock.unlock();
    const bool ends = (*one.interrupted)();
    lock.lock();
    if (ends) one.set(runtime::Stop::interrupted);
    asked_ = nullptr;
    answered_.notify_all();
    return true;
  }

  static constexpr auto never = Clock::duration::max();

  std::mutex mutex_;
  std::condition_variable changed_, answered_;
  const runtime::Run* asked_ = nullptr;  ///< whose `interrupted` is being called
  std::vector<WatchedRun> watched_;
  /// How soon the runs that were added since the thread last looked wanted to be polled. The thread
  /// looks once more after that time even if they have ended: the next run, which probably follows
  /// at once, then need not wake it.
  Clock::duration soonest_ = never;
  Clock::time_point wakes_ = Clock::time_point::max();
  std::thread thread_;
};

/// The watchdog of this process. It is never destroyed, because runs may continue while the process
/// exits. The child of a fork starts with a new one.
class Watchdog : ForkAware {
 public:
  static WatchdogThread& watcher() {
    static auto* one = new Watchdog;
    return *one->watcher_;
  }
  void after_fork_in_child() override { watcher_ = new WatchdogThread; }

 private:
  WatchdogThread* watcher_ = new WatchdogThread;
  ForkRegistration registration_{*this};
};

/// Made when the library is loaded: a fork must not find it half made.
[[maybe_unused]] const WatchdogThread& watcher_made_early = Watchdog::watcher();

}  // namespace

Watch::Watch(runtime::Run& run, const RunOptions& options) {
  if (options.deadline) {
    if (*options.deadline < longest_s)
      deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(*options.deadline));
  }
  if (options.terminate != nullptr && options.terminate->load())
    run.stop = static_cast<std::int32_t>(runtime::Stop::cancelled);
  if (!deadline_ && options.terminate == nullptr && !options.interrupted) return;
  watched_ = &run;
  Watchdog::watcher().add(
      {&run, deadline_, options.terminate, &options.interrupted, Clock::now() + pulse});
}

void Watch::end() {
  if (watched_ != nullptr) Watchdog::watcher().remove(watched_);
  watched_ = nullptr;
}

}  // namespace rondel::session
