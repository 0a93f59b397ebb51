#pragma once
#include "runtime/plan.h"

#include <rondel/session.h>

#include <chrono>
#include <optional>

namespace rondel::session {

/// Ends runs at their deadlines and on request. One thread of the process watches all runs, so that
/// running code only checks a stop flag. The first run that can be ended starts the thread; a child
/// of fork() has its own thread.
class Watch {
 public:
  /// Watches `run` until the destructor or `end` is called; the options must live as long.
  Watch(runtime::Run& run, const RunOptions&);
  ~Watch() { end(); }
  /// Stops watching. A stop flag that is set already stays set.
  void end();
  std::optional<std::chrono::steady_clock::time_point> deadline() const { return deadline_; }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  runtime::Run* watched_ = nullptr;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
};

}  // namespace rondel::session
