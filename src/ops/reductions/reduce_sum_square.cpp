#include "ops/gradients.h"
#include "ops/reductions/reduction.h"

namespace rondel::ops {
namespace {

ir::ValueId sum_square_adjoint(ir::Builder& b, const ir::Node&, const Reduced& r) {
  return b("mul", {b("mul", {r.x, b.scalar(dtype_of(b, r.x), 2)}), r.dy});
}

const ir::OpEntry reduce_sum_square{
    reduce_op("reduce_sum_square", "y = the sum of the squares over the axes", require_numbers,
              {.map = [](Ex x) { return x * x; }, .neutral = zero, .combine = plus},
              reduction_gradient(sum_square_adjoint))};

}  // namespace
}  // namespace rondel::ops
