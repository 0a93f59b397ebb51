#include "ops/gradients.h"
#include "ops/reductions/reduction.h"

namespace rondel::ops {
namespace {

ir::ValueId prod_adjoint(ir::Builder& b, const ir::Node& node, const Reduced& r) {
  const DType t = dtype_of(b, r.x);
  const ir::ValueId zero = b.scalar(t, 0), one = b.scalar(t, 1), is_zero = b("equal", {r.x, zero});
  const ir::ValueId zeros = reduced_alike(b, node, "reduce_sum", as(b, is_zero, t));
  const ir::ValueId others = b("where", {is_zero, one, r.x});
  const ir::ValueId product = reduced_alike(b, node, "reduce_prod", others);
  // The product of all elements except this one is zero if another element is zero.
  const ir::ValueId elsewhere = b("sub", {zeros, as(b, is_zero, t)});
  const ir::ValueId rest = b("where",
                             {b("equal", {elsewhere, zero}), b("div", {product, others}), zero});
  return b("mul", {r.dy, rest});
}

const ir::OpEntry reduce_prod{with_elements(
    reduce_op(
        "reduce_prod", "y = the product over the axes; without elements 1", require_numbers,
        {.neutral = [](scalar::Builder& b, DType t) { return b.constant(t, std::int64_t{1}); },
         .combine = [](Ex a, Ex b) { return a * b; }},
        reduction_gradient(prod_adjoint)),
    1, [](const ir::Integer& a, const ir::Integer& b) { return a * b; })};

}  // namespace
}  // namespace rondel::ops
