#pragma once
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace rondel::compile {

/// How each loop and `if` of a session ran last, in words, by node. Thread-safe.
class ExecutionLog {
 public:
  void set(const std::string& node, std::string how) {
    const std::lock_guard lock(mutex_);
    texts_[node] = std::move(how);
  }
  std::map<std::string, std::string> all() const {
    const std::lock_guard lock(mutex_);
    return texts_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> texts_;
};

}  // namespace rondel::compile
