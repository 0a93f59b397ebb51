#pragma once
#include "base/arithmetic.h"
#include "kernels/stop_check.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace rondel::kernels {

/// A parallel loop: calls f(stop, unit, thread) for each unit in [0, units), on at most `threads`
/// threads. Each thread takes a contiguous range of units, in order. Throws Stopped, after all
/// threads have ended, if the run was stopped.
template <class F> void parallel_for(StopCheck& stop, int threads, std::int64_t units, const F& f) {
  threads = static_cast<int>(std::min<std::int64_t>(threads, units));
  if (threads <= 1) {
    for (std::int64_t unit = 0; unit < units; ++unit) f(stop, unit, 0);
    return;
  }
  std::atomic<bool> stopped = false;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int thread = 0; thread < threads; ++thread) {
    const StandardArithmetic arithmetic;  // OpenMP's threads may be older than the run
    StopCheck own = stop;
    try {
      for (std::int64_t unit = units * thread / threads; unit < units * (thread + 1) / threads;
           ++unit)
        f(own, unit, thread);
    } catch (const Stopped&) { stopped = true; }
  }
  if (stopped) throw Stopped{};
}

}  // namespace rondel::kernels
