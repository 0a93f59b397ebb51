#pragma once

namespace rondel {

/// Something that owns threads. A child of fork() has none of them, and finds locks as they were:
/// what these guard is made anew there, and the old left where it is.
class ForkAware {
 public:
  ForkAware(const ForkAware&) = delete;
  ForkAware& operator=(const ForkAware&) = delete;
  virtual void before_fork() {}
  virtual void after_fork_in_parent() {}
  virtual void after_fork_in_child() = 0;

 protected:
  ForkAware();
  virtual ~ForkAware();
};

}  // namespace rondel
