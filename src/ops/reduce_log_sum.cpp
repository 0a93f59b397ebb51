#include "ops/reduction.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

const ir::OpEntry reduce_log_sum{
    reduce_op("reduce_log_sum", "y = the logarithm of the sum over the axes", require_numbers,
              {.neutral = zero,
               .combine = plus,
               .finish = [](Ex total, Ex) { return log(total); },
               .in_floats = true})};

}  // namespace
}  // namespace rondel::ops
