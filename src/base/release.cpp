#include "base/release.h"

#include "base/cancellation.h"
#include "base/fork.h"
#include "base/named_thread.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace rondel {
namespace {

/// The queue of objects to release, and the thread that releases them.
class ReleaseQueue {
 public:
  void add(std::shared_ptr<void> last) noexcept {
    std::unique_lock lock(mutex_);
    try {
      waiting_.push_back(std::move(last));
    } catch (const std::bad_alloc&) { return; }  // the caller drops `last`, after the lock
    ++added_;
    if (busy_) return;
    busy_ = true;
    try {
      named_thread("rondel-release", [this] { work(); }).detach();
    } catch (const std::system_error&) {  // the system cannot create a thread
      lock.unlock();
      work();
    }
  }

  void wait() {
    std::unique_lock lock(mutex_);
    const std::uint64_t all = added_;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (released_ < all && std::chrono::steady_clock::now() < end) {
      done_.wait_for(lock, std::chrono::microseconds(300));
      lock.unlock();
      check_cancellation();
      lock.lock();
    }
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (!waiting_.empty()) {
      std::shared_ptr<void> next = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      next.reset();
      lock.lock();
      ++released_;
      done_.notify_all();
    }
    busy_ = false;
  }

  std::mutex mutex_;
  std::condition_variable done_;
  std::deque<std::shared_ptr<void>> waiting_;
  std::uint64_t added_ = 0, released_ = 0;
  bool busy_ = false;
};

/// The queue of this process. It is never destroyed, because tensors may be dropped while the
/// process exits. Entries that wait during a fork are not released in the child.
class ProcessReleaseQueue : ForkAware {
 public:
  static ReleaseQueue& releases() {
    static auto* one = new ProcessReleaseQueue;
    return *one->releases_;
  }
  void after_fork_in_child() override { releases_ = new ReleaseQueue; }

 private:
  ReleaseQueue* releases_ = new ReleaseQueue;
  ForkRegistration registration_{*this};
};

/// Made when the library is loaded: a fork must not find it half made.
[[maybe_unused]] const ReleaseQueue& made_early = ProcessReleaseQueue::releases();

}  // namespace

void release_later(std::shared_ptr<void> last) noexcept {
  ProcessReleaseQueue::releases().add(std::move(last));
}

void wait_for_releases() { ProcessReleaseQueue::releases().wait(); }

void give_back_pages(void* block, std::size_t bytes) noexcept {
  constexpr std::uintptr_t page = 4096, at_once = std::uintptr_t{4} << 20;
  const auto start = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t end = (start + bytes) / page * page;
  for (std::uintptr_t at = (start + page - 1) / page * page; at < end; at += at_once)
    ::madvise(reinterpret_cast<void*>(at), std::min(at_once, end - at), MADV_DONTNEED);
}

}  // namespace rondel
