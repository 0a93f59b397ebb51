#pragma once

namespace rondel {

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

/// Must be the last member of a ForkAware object. The object's functions are called from the
/// construction of this member until its destruction. Another thread may fork at any moment in
/// between, and then all other members must exist.
class ForkRegistration {
 public:
  explicit ForkRegistration(ForkAware&);
  ~ForkRegistration();
  ForkRegistration(const ForkRegistration&) = delete;
  ForkRegistration& operator=(const ForkRegistration&) = delete;

 private:
  ForkAware& object_;
};

}  // namespace rondel
