#include "session/fork_safe_plans.h"

#include "base/fork.h"

#include <mutex>

namespace rondel::session {

ForkSafePlans::ForkSafePlans(Make make)
    : make_(std::move(make)), plans_(make_().release()), generation_(fork_generation()) {}

ForkSafePlans::~ForkSafePlans() {
  // Not if a run of the parent is in the midst of them.
  if (generation_ == fork_generation() || uses_ == 0) delete plans_.load();
}

const Plans& ForkSafePlans::now() const {
  if (generation_.load(std::memory_order_acquire) != fork_generation()) renew_in_child();
  return *plans_.load(std::memory_order_acquire);
}

void ForkSafePlans::renew_in_child() const {
  static ForkMutex renewing{ForkOrder::outer};
  const std::lock_guard lock(renewing);
  const unsigned generation = fork_generation();
  if (generation_ == generation) return;
  if (uses_ != 0) plans_.store(make_().release(), std::memory_order_release);
  uses_ = 0;
  generation_.store(generation, std::memory_order_release);
}

ForkSafePlans::Use::Use(const ForkSafePlans& all)
    : all_(all), plans_(&all.now()), generation_(fork_generation()) {
  all_.uses_.fetch_add(1, std::memory_order_relaxed);
}

ForkSafePlans::Use::~Use() {
  // A run that forks goes on in the child with the plans that it began with.
  if (generation_ == fork_generation()) all_.uses_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace rondel::session
