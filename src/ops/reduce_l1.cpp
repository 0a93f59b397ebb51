#include "ops/reduction.h"

namespace rondel::ops {
namespace {

const ir::OpEntry reduce_l1{
    reduce_op("reduce_l1", "y = the sum of the absolute values over the axes", require_numbers,
              {.map = [](Ex x) { return abs(x); }, .neutral = zero, .combine = plus})};

}  // namespace
}  // namespace rondel::ops
