#pragma once
#include "base/fork.h"
#include "compile/tiered_executable.h"
#include "scalar/same_code.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace rondel::compile {

/// Executables by the code of their programs: all that are in use, and the last `most_kept` that
/// were asked for or compiled, if they have their best code. Thread-safe, also across forks.
class CodeCache : ForkAware {
 public:
  static constexpr std::size_t most_kept = 256;
  using Made = std::shared_ptr<TieredExecutable>;

  /// The executable of an equal program, or `make()`.
  Made get(const scalar::Program&, const std::function<Made()>& make);
  /// Keeps an executable that has its best code, though nobody may use it any more.
  void keep(const Made&);

 private:
  Made find(const scalar::CodeKey&, const scalar::Program&, std::vector<Made>& dropped);
  void keep_locked(const Made&, std::vector<Made>& dropped);
  void forget_unused();

  void before_fork() override { mutex_.lock(); }
  void after_fork_in_parent() override { mutex_.unlock(); }
  /// What was being compiled or waited for it in the parent is asked for again.
  void after_fork_in_child() override;

  std::mutex mutex_;  ///< no executable is destroyed under it: that may wait for a fork
  std::multimap<scalar::CodeKey, std::weak_ptr<TieredExecutable>> made_;
  std::size_t most_made_ = 64;
  std::deque<Made> kept_;  ///< the last one used is in front
  ForkRegistration registration_{*this};
};

}  // namespace rondel::compile
