#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

namespace rondel {

/// How many forks lie between this process and the one that loaded the library.
unsigned fork_generation();

/// An object that owns threads. A child of fork() has none of these threads, and its locks are in
/// the state they had at the fork: the child re-creates the guarded data and leaks the old data.
class ForkAware {
 public:
  ForkAware(const ForkAware&) = delete;
  ForkAware& operator=(const ForkAware&) = delete;
  virtual void before_fork() {}
  virtual void after_fork_in_parent() {}
  virtual void after_fork_in_child() = 0;

 protected:
  ForkAware() = default;
  virtual ~ForkAware() = default;
};

/// When a fork takes a lock: before the usual ones if others are taken under it, after them if it
/// is taken under others and none under it.
enum class ForkOrder : std::uint8_t { outer, usual, inner };

/// Must be the last member of a ForkAware object. The object's functions are called from the
/// construction of this member until its destruction. Another thread may fork at any moment in
/// between, and then all other members must exist.
class ForkRegistration {
 public:
  explicit ForkRegistration(ForkAware&, ForkOrder = ForkOrder::usual);
  ~ForkRegistration();
  ForkRegistration(const ForkRegistration&) = delete;
  ForkRegistration& operator=(const ForkRegistration&) = delete;

 private:
  ForkAware& object_;
  const ForkOrder order_;
};

/// A mutex that a child of fork() finds unlocked, and what it guards whole: a fork waits for it.
class ForkMutex : ForkAware {
 public:
  explicit ForkMutex(ForkOrder order = ForkOrder::usual) : registration_(*this, order) {}
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  void before_fork() override { mutex_.lock(); }
  void after_fork_in_parent() override { mutex_.unlock(); }
  void after_fork_in_child() override { mutex_.unlock(); }

  std::mutex mutex_;
  ForkRegistration registration_;
};

/// Work that makes tables when it is done for the first time, which are then kept (static locals).
/// A fork waits until they are made: a child would wait forever for the thread that made them. Not
/// to be nested, and the work must not make ForkAware objects.
class FirstUse {
 public:
  template <class Work> auto run(const Work& work) {
    if (done_.load(std::memory_order_acquire)) return work();
    const std::lock_guard lock(mutex_);
    auto result = work();
    done_.store(true, std::memory_order_release);
    return result;
  }

 private:
  std::atomic<bool> done_ = false;
  ForkMutex mutex_{ForkOrder::outer};
};

}  // namespace rondel
