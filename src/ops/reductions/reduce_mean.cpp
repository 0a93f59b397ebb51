#include "ops/gradients.h"
#include "ops/reductions/reduction.h"

namespace rondel::ops {
namespace {

/// The number of elements per result is computed as a quotient of floats, because 0 / 0 is
/// possible. It is at least 1, because the mean of nothing is 0 and so is its tangent.
ir::ValueId mean_adjoint(ir::Builder& b, const ir::Node&, const Reduced& r) {
  const auto size = [&](ir::ValueId v) { return as(b, b("size", {v}), DType::f64); };
  const ir::ValueId elements = b("div", {size(r.x), size(r.dy)});
  const ir::ValueId count = as(b, b("max", {elements, b.scalar(DType::f64, 1)}), dtype_of(b, r.x));
  return b("expand", {b("div", {r.dy, count}), b("shape", {r.x})});
}

/// ONNX leaves open what the mean of nothing is: 0, as in ONNX Runtime.
Ex mean_of(Ex total, Ex count) {
  return total / cast(total.type(), scalar::max(count, count.builder().index(1)));
}

const ir::OpEntry reduce_mean{reduce_op(
    "reduce_mean", "y = the mean over the axes; without elements 0", require_numbers,
    {.neutral = zero, .combine = plus, .finish = mean_of}, reduction_gradient(mean_adjoint))};

}  // namespace
}  // namespace rondel::ops
