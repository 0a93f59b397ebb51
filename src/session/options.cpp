#include "session/options.h"

#include "base/error.h"

#include <cstdio>

namespace rondel::session {

const SessionOptions& checked(const SessionOptions& o) {
  require(o.loop_cond == "spec" || o.loop_cond == "honour",
          "SessionOptions.loop_cond is '{}'; expected 'spec' or 'honour'", o.loop_cond);
  require(o.max_trips >= 0, "SessionOptions.max_trips is {}; expected 0 or more", o.max_trips);
  require(o.intra_op_num_threads >= 0,
          "SessionOptions.intra_op_num_threads is {}; expected 0 (one per core) or more",
          o.intra_op_num_threads);
  return o;
}

void report_warnings(const SessionOptions& o, std::span<const Finding> findings) {
  for (const Finding& f : findings) {
    if (f.level != Finding::Level::warning) continue;
    if (o.on_warning) o.on_warning(f);
    else fmt::print(stderr, "rondel: warning: {}: {}\n", f.where, f.message);
  }
}

}  // namespace rondel::session
