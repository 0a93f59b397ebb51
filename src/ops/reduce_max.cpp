#include "ops/reduction.h"

namespace rondel::ops {
namespace {

const ir::OpEntry reduce_max{reduce_op(
    "reduce_max",
    "y = the greatest over the axes, NaN if there is one; of nothing the least value there is",
    numbers_or_bool_first,
    {.neutral = scalar::lowest, .combine = [](Ex a, Ex b) { return max(a, b); }})};

}  // namespace
}  // namespace rondel::ops
