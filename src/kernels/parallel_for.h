#pragma once
#include "base/thread_pool.h"
#include "kernels/stop_check.h"

#include <algorithm>
#include <cstdint>

namespace rondel::kernels {

/// A parallel loop: calls f(stop, unit, part) for each unit in [0, units). There are at most
/// `threads` parts, each of which is a contiguous range of units, in order, and is run by one
/// thread. Throws Stopped, after all threads have ended, if the run was stopped.
template <class F> void parallel_for(StopCheck& stop, int threads, std::int64_t units, const F& f) {
  const std::int64_t parts = std::min<std::int64_t>(threads, units);
  if (parts <= 1) {
    for (std::int64_t unit = 0; unit < units; ++unit) f(stop, unit, 0);
    return;
  }
  ThreadPool::of_process().run(threads, parts, [&](std::int64_t part) {
    StopCheck own = stop;
    for (std::int64_t unit = units * part / parts; unit < units * (part + 1) / parts; ++unit)
      f(own, unit, static_cast<int>(part));
  });
}

}  // namespace rondel::kernels
