#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace rondel::runtime {
struct LastRun;
}

namespace rondel::compile {

/// How each loop and `if` of a session ran last, in words, by node. Thread-safe.
class ExecutionLog {
 public:
  /// `how`: how the node runs once its code is compiled. `last_run`: what is counted of the latest
  /// run; null if the node has no code of its own.
  void set(const std::string& node, std::string how, std::shared_ptr<runtime::LastRun> last_run);
  /// `tiers`: also how many trips of the latest run were interpreted before.
  std::map<std::string, std::string> all(bool tiers = false) const;
  /// Whether a node has run step by step.
  bool stepped() const { return stepped_; }

 private:
  struct Entry {
    std::string how;
    std::shared_ptr<runtime::LastRun> last_run;
  };
  std::atomic<bool> stepped_{false};
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

}  // namespace rondel::compile
