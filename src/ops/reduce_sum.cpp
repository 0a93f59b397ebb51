#include "ops/reduction.h"

namespace rondel::ops {
namespace {

const ir::OpEntry reduce_sum{
    with_elements(reduce_op("reduce_sum", "y = the sum over the axes; without elements 0",
                            require_numbers, {.neutral = zero, .combine = plus}),
                  0, [](const ir::Integer& a, const ir::Integer& b) { return a + b; })};

}  // namespace
}  // namespace rondel::ops
