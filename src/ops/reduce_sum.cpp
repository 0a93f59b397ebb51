#include "ops/reduction.h"

namespace rondel::ops {
namespace {

const ir::OpEntry reduce_sum{reduce_op("reduce_sum", "y = the sum over the axes; of nothing 0",
                                       numbers_of_first, {.neutral = zero, .combine = plus})};

}  // namespace
}  // namespace rondel::ops
