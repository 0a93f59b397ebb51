#include "base/fork.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace rondel {
namespace {

struct Registry {
  std::mutex mutex;             // held from before a fork until after it, in parent and child
  std::vector<ForkAware*> all;  // outer locks first

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
    for (ForkAware* each : all) each->before_fork();
  }
  void in_parent() {
    for (ForkAware* each : all) each->after_fork_in_parent();
    mutex.unlock();
  }
  void in_child() {
    for (ForkAware* each : all) each->after_fork_in_child();
    mutex.unlock();
  }
};

}  // namespace

ForkRegistration::ForkRegistration(ForkAware& object, bool outer) : object_(object) {
  const std::lock_guard lock(Registry::instance().mutex);
  auto& all = Registry::instance().all;
  all.insert(outer ? all.begin() : all.end(), &object_);
}
ForkRegistration::~ForkRegistration() {
  const std::lock_guard lock(Registry::instance().mutex);
  std::erase(Registry::instance().all, &object_);
}

}  // namespace rondel
