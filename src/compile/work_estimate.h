#pragma once
#include "scalar/program.h"

namespace rondel::compile {

/// How many instructions one run of a program executes.
struct Work {
  double least = 0, most = 0;
};

/// Estimates it from the extents, the parameters and the inputs of the run. A loop whose trip count
/// is not known, or that may end early, counts as 1 to 10^7 trips, but not more than its trip
/// count. Of an `if`, the branch that is taken counts, or both if that is not known.
Work estimated_work(const scalar::Program&, const scalar::View* views, const std::int64_t* params);

}  // namespace rondel::compile
