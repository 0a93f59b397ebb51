#pragma once
#include "scalar/program.h"

namespace rondel::compile {

/// How many instructions one run of a program executes, as far as that is known.
struct Work {
  double least = 0, most = 0;
};

/// Estimates it from the extents, the parameters and the inputs of the run, as if all trips of a
/// loop cost what the first one costs. A loop whose trip count is not known counts as 0 to 10^7
/// trips, and one that may end early as 1 to its trip count, but not more than 10^7. Of an `if`,
/// the branch that is taken counts; if that is not known, or changes from trip to trip, the cheaper
/// one or both.
Work estimated_work(const scalar::Program&, const scalar::View* views, const std::int64_t* params);

}  // namespace rondel::compile
