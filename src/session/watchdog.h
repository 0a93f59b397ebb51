#pragma once
#include "runtime/plan.h"

#include <rondel/session.h>

namespace rondel::session {

/// Ends runs on time. One thread of the process owns the clock, so that running code only checks
/// one flag. The first run with a limit starts the thread; a child of fork() has its own.
class Watch {
 public:
  /// Watches `run` until destroyed; the options outlive it.
  Watch(runtime::Run& run, const RunOptions&);
  ~Watch() { end(); }
  /// From now on nothing ends the run, unless it has been ended already.
  void end();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  runtime::Run* watched_ = nullptr;
};

}  // namespace rondel::session
