#include "ops/reduction.h"

namespace rondel::ops {
namespace {

const ir::OpEntry reduce_mean{
    reduce_op("reduce_mean", "y = the mean over the axes; without elements NaN", require_numbers,
              {.neutral = zero, .combine = plus, .finish = [](Ex total, Ex count) {
                 return total / cast(total.type(), count);
               }})};

}  // namespace
}  // namespace rondel::ops
