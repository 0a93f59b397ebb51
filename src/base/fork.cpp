#include "base/fork.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <vector>

namespace rondel {
namespace {

struct Registry {
  std::mutex mutex;  // held from before a fork until after it, in parent and child
  std::array<std::vector<ForkAware*>, 3> all;  // by ForkOrder
  std::atomic<unsigned> generation = 0;

  Registry() {
    pthread_atfork([] { instance().before(); }, [] { instance().in_parent(); },
                   [] { instance().in_child(); });
  }
  /// Never destroyed: a process may fork while it exits.
  static Registry& instance() {
    static auto* one = new Registry;
    return *one;
  }

  void before() {
    mutex.lock();
    for (const auto& same : all)
      for (ForkAware* each : same) each->before_fork();
  }
  void in_parent() {
    for (const auto& same : all)
      for (ForkAware* each : same) each->after_fork_in_parent();
    mutex.unlock();
  }
  void in_child() {
    ++generation;
    for (const auto& same : all)
      for (ForkAware* each : same) each->after_fork_in_child();
    mutex.unlock();
  }
};

}  // namespace

unsigned fork_generation() {
  return Registry::instance().generation.load(std::memory_order_relaxed);
}

ForkRegistration::ForkRegistration(ForkAware& object, ForkOrder order)
    : object_(object), order_(order) {
  const std::lock_guard lock(Registry::instance().mutex);
  Registry::instance().all[static_cast<std::size_t>(order_)].push_back(&object_);
}
ForkRegistration::~ForkRegistration() {
  const std::lock_guard lock(Registry::instance().mutex);
  std::erase(Registry::instance().all[static_cast<std::size_t>(order_)], &object_);
}

}  // namespace rondel
