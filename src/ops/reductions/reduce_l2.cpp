#include "ops/gradients.h"
#include "ops/reductions/reduction.h"

namespace rondel::ops {
namespace {

/// The derivative is x / y. If y is 0, the adjoint is 0, and is divided by 1 for a tangent of 0.
ir::ValueId l2_adjoint(ir::Builder& b, const ir::Node&, const Reduced& r) {
  const DType t = dtype_of(b, r.x);
  const ir::ValueId zero = b.scalar(t, 0), is_zero = b("equal", {r.y, zero});
  const ir::ValueId divisor = b("where", {is_zero, b.scalar(t, 1), r.y});
  const ir::ValueId scale = b("where", {is_zero, zero, b("div", {r.dy, divisor})});
  return b("mul", {r.x, scale});
}

const ir::OpEntry reduce_l2{
    reduce_op("reduce_l2", "y = the root of the sum of the squares over the axes", require_numbers,
              {.map = [](Ex x) { return x * x; },
               .neutral = zero,
               .combine = plus,
               .finish = [](Ex total, Ex) { return sqrt(total); },
               .in_floats = true},
              reduction_gradient(l2_adjoint))};

}  // namespace
}  // namespace rondel::ops
