#pragma once
#include "base/fork.h"

#include <condition_variable>
#include <mutex>

namespace rondel::compile {

/// Counts the threads of this process that are inside LLVM. A fork waits until there are none,
/// because LLVM's locks would stay locked in the child. The exit of the process waits until each
/// thread is between two passes, and stops it there, because LLVM's global data is destroyed next.
/// The object itself is never destroyed.
class LlvmThreads : ForkAware {
 public:
  static LlvmThreads& threads();

  /// Runs `work` as one of these threads. Not to be nested. Does not return if the process is
  /// exiting.
  template <class Work> void run(const Work& work) {
    enter();
    work();
    leave();
  }
  /// The same if the process is not exiting; else does nothing.
  template <class Work> void run_unless_exiting(const Work& work) {
    if (!try_enter()) return;
    work();
    leave();
  }
  /// Called between two LLVM passes; does not return if the process is exiting.
  void pass();
  /// Exits destroy first what was made last, and LLVM makes some of its global data during its
  /// first compilations. Called after these: from now on, the exit of the process begins here.
  static void end_before_what_exists_now();
  /// What happens at the exit of the process.
  void end();
  bool exiting();

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    int inside = 0;
    bool forking = false, ending = false;
  };

  LlvmThreads();
  void enter();
  bool try_enter();
  void leave();
  void before_fork() override;
  void after_fork_in_parent() override;
  void after_fork_in_child() override { state_ = new State; }

  State* state_ = new State;
  ForkRegistration registration_{*this};
};

}  // namespace rondel::compile
