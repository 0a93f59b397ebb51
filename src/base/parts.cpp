#include "base/parts.h"

#include "base/thread_pool.h"

#include <algorithm>
#include <mutex>

namespace rondel {
namespace {

/// More parts than threads: a thread that begins late leaves its share to the others.
constexpr std::int64_t parts_per_thread = 8;
/// Trips that stay together where there are many: the elements of some cache lines.
constexpr std::int64_t trips_of_lines = 64;

std::int64_t rounded_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

/// The trips of a part.
std::int64_t part_size(std::int64_t trips, int threads, double work, std::int64_t together) {
  const auto most = static_cast<double>(parts_per_thread * threads);
  const auto parts = static_cast<std::int64_t>(
      std::clamp(parts_per_thread * work / worth_dividing, 2.0, most));
  const std::int64_t size = trips / parts + (trips % parts != 0);
  return rounded_up(size, std::max(together, size < trips_of_lines ? 1 : trips_of_lines));
}

/// The outcome of the first part that did not end with `done`.
class Outcome {
 public:
  void add(std::int64_t part, Status status, const Context& context) {
    const std::lock_guard lock(mutex_);
    if (status_ != done && part > part_) return;
    part_ = part, status_ = status, shown_ = context.shown;
    failed_.store(true, std::memory_order_relaxed);
  }
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  Status give(Context& context) const {
    if (status_ != done) context.shown = shown_;
    return status_;
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> failed_ = false;
  std::int64_t part_ = 0;
  Status status_ = done;
  decltype(Context::shown) shown_ = {};
};

}  // namespace

Status run_in_parts(Context* context, PartFn run, const void* values, std::int64_t lo,
                    std::int64_t hi, double work, std::int64_t together) {
  const std::int64_t trips = hi - lo;
  const int threads = thread_count();
  if (threads == 1 || trips <= together) return run(context, values, lo, hi);
  const std::int64_t size = part_size(trips, threads, work, together);
  Outcome outcome;
  ThreadPool::of_process().run(threads, trips / size + (trips % size != 0), [&](std::int64_t k) {
    if (outcome.failed()) return;  // in an earlier part: these begin in order
    Context own;
    own.stop = context->stop;
    own.workspace = context->workspace;
    const std::int64_t from = lo + k * size;
    const Status status = run(&own, values, from, hi - from < size ? hi : from + size);
    if (status != done) outcome.add(k, status, own);
  });
  return outcome.give(*context);
}

}  // namespace rondel
