#include "session/watchdog.h"

#include "base/error.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace rondel::session {
namespace {

using Clock = std::chrono::steady_clock;

/// How often terminate flags are looked at while a run has one.
constexpr auto poll = std::chrono::microseconds(300);
/// Deadlines further off than this are none.
constexpr double longest_s = 1e9;

struct Watched {
  runtime::Run* run;
  std::optional<Clock::time_point> deadline;
  const std::atomic<bool>* terminate;
};

class Watchdog {
 public:
  static Watchdog& instance() {
    static Watchdog dog;
    return dog;
  }

  void add(Watched w) {
    {
      const std::lock_guard lock(mutex_);
      watched_.push_back(w);
      if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
    }
    changed_.notify_one();
  }

  void remove(const runtime::Run* run) {
    const std::lock_guard lock(mutex_);
    std::erase_if(watched_, [run](const Watched& w) { return w.run == run; });
  }

  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void watch() {
    pthread_setname_np(pthread_self(), "rondel-watch");
    std::unique_lock lock(mutex_);
    while (!ending_) {
      if (watched_.empty()) {
        changed_.wait(lock);
        continue;
      }
      const auto now = Clock::now();
      auto next = now + std::chrono::hours(1);
      for (const Watched& w : watched_) {
        if (w.terminate != nullptr && w.terminate->load(std::memory_order_relaxed))
          set(*w.run, runtime::Stop::cancelled);
        else if (w.deadline && *w.deadline <= now) set(*w.run, runtime::Stop::deadline);
        if (w.terminate != nullptr) next = std::min(next, now + poll);
        if (w.deadline && *w.deadline > now) next = std::min(next, *w.deadline);
      }
      changed_.wait_until(lock, next);
    }
  }

  static void set(runtime::Run& run, runtime::Stop why) {
    std::int32_t none = 0;
    run.stop.compare_exchange_strong(none, static_cast<std::int32_t>(why));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watched> watched_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace

Watch::Watch(runtime::Run& run, const RunOptions& options) {
  std::optional<Clock::time_point> deadline;
  if (options.deadline) {
    require(!std::isnan(*options.deadline) && *options.deadline >= 0,
            "RunOptions.deadline is {}; expected seconds, 0 or more", *options.deadline);
    if (*options.deadline < longest_s)
      deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(*options.deadline));
  }
  if (options.terminate != nullptr && options.terminate->load())
    run.stop = static_cast<std::int32_t>(runtime::Stop::cancelled);
  if (!deadline && options.terminate == nullptr) return;
  watched_ = &run;
  Watchdog::instance().add({&run, deadline, options.terminate});
}

Watch::~Watch() {
  if (watched_ != nullptr) Watchdog::instance().remove(watched_);
}

}  // namespace rondel::session
