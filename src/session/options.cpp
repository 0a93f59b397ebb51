#include "session/options.h"

#include "base/error.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace rondel::session {

const SessionOptions& checked(const SessionOptions& o) {
  require(o.loop_cond == "spec" || o.loop_cond == "honour",
          "SessionOptions.loop_cond is '{}'; expected 'spec' or 'honour'", o.loop_cond);
  constexpr std::array levels{0, 1, 2, 3, 99};
  require(std::ranges::find(levels, o.graph_optimization_level) != levels.end(),
          "SessionOptions.graph_optimization_level is {}; expected 0 (none), 1, 2, 3 or 99 (all)",
          o.graph_optimization_level);
  require(o.max_trips >= 0, "SessionOptions.max_trips is {}; expected 0 or more", o.max_trips);
  require(o.intra_op_num_threads >= 0,
          "SessionOptions.intra_op_num_threads is {}; expected 0 (one per core) or more",
          o.intra_op_num_threads);
  return o;
}

const RunOptions& checked(const RunOptions& o) {
  require(o.max_trips >= 0, "RunOptions.max_trips is {}; expected 0 or more", o.max_trips);
  require(!o.deadline || *o.deadline >= 0, "RunOptions.deadline is {}; expected seconds, 0 or more",
          o.deadline.value_or(0));
  return o;
}

Arithmetic arithmetic_of(const SessionOptions& o) {
  return o.denormals_as_zero ? Arithmetic::with_denormals_as_zero() : Arithmetic::standard();
}

void report_warnings(const SessionOptions& o, std::span<const Finding> findings) {
  for (const Finding& f : findings) {
    if (f.level != Finding::Level::warning) continue;
    if (o.on_warning) o.on_warning(f);
    else fmt::print(stderr, "rondel: warning: {}: {}\n", f.where, f.message);
  }
}

}  // namespace rondel::session
