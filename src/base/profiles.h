#pragma once
#include <rondel/profile.h>

#include <optional>

/// Events that do not belong to one session, such as compiling: every profile gets them.
namespace rondel {

/// Whether there is a profile: one relaxed load.
bool profiles_record();
void add_to_profiles(ProfileEvent);
/// Now, as `ProfileEvent::begin_ns` counts.
std::int64_t profile_clock();
/// The number of this thread, as `ProfileEvent::thread` counts.
int profile_thread();

/// Records an event of this thread, from here to the end of the scope, in one profile, or in all.
class ProfileScope {
 public:
  using Kind = ProfileEvent::Kind;
  /// Null: records nothing.
  ProfileScope(Profile* to, Kind, const char* name);
  /// For all profiles, if there are any.
  ProfileScope(Kind, const std::string& name);
  ~ProfileScope();
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  Profile* to_ = nullptr;  ///< null: all
  std::optional<ProfileEvent> event_;
};

}  // namespace rondel
