#pragma once
#include "scalar/program.h"

namespace rondel::compile {

/// Estimates how many instructions one run of a program executes, from the extents and the
/// parameters of the run. A loop whose trip count depends on data counts as 10^7 trips; a loop that
/// may end early as at most 10^7 trips; for an `if`, both branches count.
double estimated_work(const scalar::Program&, const scalar::View* views,
                      const std::int64_t* params);

}  // namespace rondel::compile
