#include "base/profiles.h"

#include "base/fork.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>

namespace rondel {
namespace {

/// The events of a profile. Guarded by the mutex of `Profiles`.
struct Events {
  std::vector<ProfileEvent> kept;
  std::size_t dropped = 0;

  void add(std::vector<ProfileEvent> more) {
    const std::size_t room = Profile::most_events - kept.size();
    if (more.size() > room) {
      dropped += more.size() - room;
      more.resize(room);
    }
    kept.insert(kept.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
  }
};

/// The profiles that exist. Never destroyed: compiling threads may outlive static objects.
struct Profiles {
  ForkMutex mutex;
  std::vector<Events*> all;
  std::atomic<int> count{0};
};
Profiles& profiles() {
  static auto* one = new Profiles;
  return *one;
}
/// Made when the library is loaded: a fork must not find them half made.
[[maybe_unused]] const Profiles& made_early = profiles();

}  // namespace

struct Profile::Impl {
  Events events;
};

Profile::Profile() : impl_(std::make_unique<Impl>()) {
  const std::lock_guard lock(profiles().mutex);
  profiles().all.push_back(&impl_->events);
  ++profiles().count;
}

Profile::~Profile() {
  const std::lock_guard lock(profiles().mutex);
  std::erase(profiles().all, &impl_->events);
  --profiles().count;
}

std::vector<ProfileEvent> Profile::events() const {
  const std::lock_guard lock(profiles().mutex);
  return impl_->events.kept;
}

std::size_t Profile::dropped() const {
  const std::lock_guard lock(profiles().mutex);
  return impl_->events.dropped;
}

void Profile::add(std::vector<ProfileEvent> more) {
  const std::lock_guard lock(profiles().mutex);
  impl_->events.add(std::move(more));
}

bool profiles_record() { return profiles().count.load(std::memory_order_relaxed) != 0; }

void add_to_profiles(ProfileEvent event) {
  const std::lock_guard lock(profiles().mutex);
  for (Events* events : profiles().all) events->add({event});
}

std::int64_t profile_clock() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

int profile_thread() { return static_cast<int>(syscall(SYS_gettid)); }

ProfileScope::ProfileScope(Profile* to, Kind kind, const char* name) : to_(to) {
  if (to != nullptr) event_ = {kind, name, profile_clock(), 0, profile_thread()};
}

ProfileScope::ProfileScope(Kind kind, const std::string& name) {
  if (profiles_record()) event_ = {kind, name, profile_clock(), 0, profile_thread()};
}

ProfileScope::~ProfileScope() {
  if (!event_) return;
  event_->end_ns = profile_clock();
  try {
    if (to_ != nullptr) to_->add({*std::move(event_)});
    else add_to_profiles(*std::move(event_));
  } catch (const std::bad_alloc&) {
    // The event is lost.
  }
}

}  // namespace rondel
