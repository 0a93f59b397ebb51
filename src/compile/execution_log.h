#pragma once
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
  /// `how`: how the node runs, whatever the tier. `last_run`: by which code it ran last; null if it
  /// has no code of its own.
  void set(const std::string& node, std::string how, std::shared_ptr<runtime::LastRun> last_run);
  /// `tiers`: also by which code, and for how many trips.
  std::map<std::string, std::string> all(bool tiers = false) const;

 private:
  struct Entry {
    std::string how;
    std::shared_ptr<runtime::LastRun> last_run;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

}  // namespace rondel::compile
