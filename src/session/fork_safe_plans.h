#pragma once
#include "session/plans.h"

#include <atomic>
#include <functional>
#include <memory>

namespace rondel::session {

/// The plans of a session, in whatever process asks for them. In a child of fork(), a run that was
/// under way in another thread never ends, and what it had locked stays locked: the child then
/// makes plans of its own, and leaves the old ones as they are. Thread-safe.
class ForkSafePlans {
 public:
  using Make = std::function<std::unique_ptr<const Plans>()>;
  explicit ForkSafePlans(Make make);
  ~ForkSafePlans();
  ForkSafePlans(const ForkSafePlans&) = delete;
  ForkSafePlans& operator=(const ForkSafePlans&) = delete;

  /// The plans while they are in use.
  class Use {
   public:
    explicit Use(const ForkSafePlans&);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    const Plans* operator->() const { return plans_; }

   private:
    const ForkSafePlans& all_;
    const Plans* plans_;
    const unsigned generation_;
  };

  /// The plans, for what stays as it was when they were made.
  const Plans& now() const;

 private:
  void renew_in_child() const;

  const Make make_;
  mutable std::atomic<const Plans*> plans_;   ///< owned
  mutable std::atomic<unsigned> generation_;  ///< of the process that the plans are for
  mutable std::atomic<int> uses_ = 0;         ///< in this process
};

}  // namespace rondel::session
