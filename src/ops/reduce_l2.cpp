#include "ops/reduction.h"

namespace rondel::ops {
namespace {

const ir::OpEntry reduce_l2{
    reduce_op("reduce_l2", "y = the root of the sum of the squares over the axes", require_numbers,
              {.map = [](Ex x) { return x * x; },
               .neutral = zero,
               .combine = plus,
               .finish = [](Ex total, Ex) { return sqrt(total); },
               .in_floats = true})};

}  // namespace
}  // namespace rondel::ops
