#include "base/release.h"

#include "base/fork.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace rondel {
namespace {

/// What is to be released, and whether a thread is at it.
class Releases {
 public:
  void add(std::shared_ptr<void> last) noexcept {
    std::unique_lock lock(mutex_);
    try {
      waiting_.push_back(std::move(last));
      if (busy_) return;
      std::thread([this] { work(); }).detach();
      busy_ = true;
    } catch (const std::exception&) {  // no thread to be had
      busy_ = true;
      lock.unlock();
      work();
    }
  }
  void wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return !busy_; });
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (!waiting_.empty()) {
      std::vector<std::shared_ptr<void>> now;
      now.swap(waiting_);
      lock.unlock();
      now.clear();
      lock.lock();
    }
    busy_ = false;
    done_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<std::shared_ptr<void>> waiting_;
  bool busy_ = false;
};

/// Those of this process, never destroyed: tensors may be let go of while it ends. What waits
/// while it forks is not released in the child.
class OfProcess : ForkAware {
 public:
  static Releases& releases() {
    static auto* one = new OfProcess;
    return *one->releases_;
  }
  void after_fork_in_child() override { releases_ = new Releases; }

 private:
  Releases* releases_ = new Releases;
};

}  // namespace

void release_later(std::shared_ptr<void> last) noexcept {
  OfProcess::releases().add(std::move(last));
}
void wait_for_releases() noexcept { OfProcess::releases().wait(); }

}  // namespace rondel
