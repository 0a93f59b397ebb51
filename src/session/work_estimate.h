#pragma once
#include "scalar/program.h"

namespace rondel::session {

/// About how many instructions one run of a program executes, from the extents and the parameters
/// of the run. Of a loop whose count only data tell, many trips are counted; of one that may end
/// early, at most as many; of an `if`, both branches.
double estimated_work(const scalar::Program&, const scalar::View* views,
                      const std::int64_t* params);

}  // namespace rondel::session
