#pragma once

namespace rondel {

/// An object that owns threads. A child of fork() has none of the threads, and its locks are in the
/// state of the fork: the child makes the guarded data anew and leaks the old.
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

/// The last member of such an object: its functions are called from then on, until it goes. Another
/// thread may fork at any moment, when all other members have to be there.
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
