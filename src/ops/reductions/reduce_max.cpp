#include "ops/reductions/reduction.h"

namespace rondel::ops {
namespace {

const ir::OpEntry reduce_max{reduce_op(
    "reduce_max",
    "y = the greatest over the axes, NaN if there is one; without elements the least value",
    require_numbers_or_bools,
    {.neutral = scalar::lowest, .combine = [](Ex a, Ex b) { return max(a, b); }},
    reduction_gradient(shared_among_extremes))};

}  // namespace
}  // namespace rondel::ops
