#include "ops/running.h"

namespace rondel::ops {
namespace {

const ir::OpEntry cum_sum{running_op("cum_sum",
                                     "y = the sums of the elements so far along the axis", 0,
                                     [](Ex a, Ex b) { return a + b; })};

}  // namespace
}  // namespace rondel::ops
