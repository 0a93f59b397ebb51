#include "ops/gradients.h"
#include "ops/reductions/reduction.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

ir::ValueId log_sum_adjoint(ir::Builder& b, const ir::Node& node, const Reduced& r) {
  const ir::ValueId sum = reduced_alike(b, node, "reduce_sum", r.x);
  return b("expand", {b("div", {r.dy, sum}), b("shape", {r.x})});
}

const ir::OpEntry reduce_log_sum{
    reduce_op("reduce_log_sum", "y = the logarithm of the sum over the axes", require_numbers,
              {.neutral = zero,
               .combine = plus,
               .finish = [](Ex total, Ex) { return log(total); },
               .in_floats = true},
              reduction_gradient(log_sum_adjoint))};

}  // namespace
}  // namespace rondel::ops
