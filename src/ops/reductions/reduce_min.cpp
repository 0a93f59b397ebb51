#include "ops/reductions/reduction.h"

namespace rondel::ops {
namespace {

const ir::OpEntry reduce_min{reduce_op(
    "reduce_min",
    "y = the least over the axes, NaN if there is one; without elements the greatest value",
    require_numbers_or_bools,
    {.neutral = scalar::highest, .combine = [](Ex a, Ex b) { return min(a, b); }},
    reduction_gradient(shared_among_extremes))};

}  // namespace
}  // namespace rondel::ops
