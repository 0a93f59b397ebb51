#include "base/profiles.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <mutex>

namespace rondel {
namespace {

/// The profiles that exist. Never destroyed: compiling threads may outlive static objects.
struct Profiles {
  std::mutex mutex;
  std::vector<Profile*> all;
  std::atomic<int> count{0};
};
Profiles& profiles() {
  static auto* one = new Profiles;
  return *one;
}

}  // namespace

struct Profile::Impl {
  mutable std::mutex mutex;
  std::vector<ProfileEvent> events;
  std::size_t dropped = 0;
};

Profile::Profile() : impl_(std::make_unique<Impl>()) {
  const std::lock_guard lock(profiles().mutex);
  profiles().all.push_back(this);
  ++profiles().count;
}

Profile::~Profile() {
  const std::lock_guard lock(profiles().mutex);
  std::erase(profiles().all, this);
  --profiles().count;
}

std::vector<ProfileEvent> Profile::events() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->events;
}

std::size_t Profile::dropped() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->dropped;
}

void Profile::add(std::vector<ProfileEvent> more) {
  const std::lock_guard lock(impl_->mutex);
  std::vector<ProfileEvent>& kept = impl_->events;
  const std::size_t room = most_events - kept.size();
  if (more.size() > room) {
    impl_->dropped += more.size() - room;
    more.resize(room);
  }
  kept.insert(kept.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

bool profiles_record() { return profiles().count.load(std::memory_order_relaxed) != 0; }

void add_to_profiles(ProfileEvent event) {
  const std::lock_guard lock(profiles().mutex);
  for (Profile* p : profiles().all) p->add({event});
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
  if (to_ != nullptr) to_->add({*std::move(event_)});
  else add_to_profiles(*std::move(event_));
}

}  // namespace rondel
