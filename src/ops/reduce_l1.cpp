#include "ops/reduction.h"

namespace rondel::ops {
namespace {

const ir::OpEntry reduce_l1{
    reduce_op("reduce_l1", "y = the sum of the absolute values over the axes", numbers_of_first,
              {.map = [](Ex x) { return abs(x); }, .neutral = zero, .combine = plus})};

}  // namespace
}  // namespace rondel::ops
