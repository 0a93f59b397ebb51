#include "ops/reduction.h"

namespace rondel::ops {
namespace {

const ir::OpEntry reduce_sum_square{
    reduce_op("reduce_sum_square", "y = the sum of the squares over the axes", require_numbers,
              {.map = [](Ex x) { return x * x; }, .neutral = zero, .combine = plus})};

}  // namespace
}  // namespace rondel::ops
