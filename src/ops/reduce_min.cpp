#include "ops/reduction.h"

namespace rondel::ops {
namespace {

const ir::OpEntry reduce_min{reduce_op(
    "reduce_min",
    "y = the least over the axes, NaN if there is one; of nothing the greatest value there is",
    numbers_or_bool_first,
    {.neutral = scalar::highest, .combine = [](Ex a, Ex b) { return min(a, b); }})};

}  // namespace
}  // namespace rondel::ops
