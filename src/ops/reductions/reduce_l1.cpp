#include "ops/gradients.h"
#include "ops/reductions/reduction.h"

namespace rondel::ops {
namespace {

ir::ValueId l1_adjoint(ir::Builder& b, const ir::Node&, const Reduced& r) {
  return b("mul", {r.dy, b("sign", {r.x})});
}

const ir::OpEntry reduce_l1{
    reduce_op("reduce_l1", "y = the sum of the absolute values over the axes", require_numbers,
              {.map = [](Ex x) { return abs(x); }, .neutral = zero, .combine = plus},
              reduction_gradient(l1_adjoint))};

}  // namespace
}  // namespace rondel::ops
