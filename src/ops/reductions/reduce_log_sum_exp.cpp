#include "ops/gradients.h"
#include "ops/reductions/reduction.h"
#include "scalar/math.h"

#include <limits>

namespace rondel::ops {
namespace {

/// log(sum(exp(x - m))) + m, where m is the greatest x, so that exp does not overflow.
Ex log_sum_exp(Emitter& e, std::size_t, const Indices& out) {
  const ReducedElements x(e, out);
  scalar::Builder& b = e.builder();
  const DType own = scalar::compute_type(e.dtype(0));
  const DType t = is_integer(own) ? DType::f64 : own;
  const Fold greatest{.neutral = scalar::lowest, .combine = [](Ex p, Ex q) { return max(p, q); }};
  const Fold sum{.neutral = zero, .combine = plus};
  const Ex top = fold(b, greatest, x, t, [&](Ex raw) { return narrowed(t, raw); });
  const Ex finite = abs(top) < std::numeric_limits<double>::infinity();
  const Ex shift = select(finite, top, 0);
  const Ex total = fold(b, sum, x, t,
                        [&](Ex raw) { return scalar::exp(narrowed(t, raw) - shift); });
  return narrowed(e.output_dtype(), scalar::log(total) + shift);
}

/// The derivative is exp(x - y). y is rounded, for which the sum of these makes up: it is 1 but for
/// that. If all x, and so y, are -infinity, the adjoint is zero.
ir::ValueId log_sum_exp_adjoint(ir::Builder& b, const ir::Node& node, const Reduced& r) {
  const DType t = dtype_of(b, r.x);
  const ir::ValueId zero = b.scalar(t, 0), one = b.scalar(t, 1);
  const ir::ValueId least = b.scalar(t, -std::numeric_limits<double>::infinity());
  const ir::ValueId shift = b("where", {b("equal", {r.y, least}), zero, r.y});
  const ir::ValueId parts = b("exp", {b("sub", {r.x, b("stop_gradient", {shift})})});
  const ir::ValueId total = reduced_alike(b, node, "reduce_sum", parts);
  const ir::ValueId divisor = b("where", {b("equal", {total, zero}), one, total});
  return b("mul", {r.dy, b("div", {parts, divisor})});
}

const ir::OpEntry reduce_log_sum_exp{reduce_op(
    "reduce_log_sum_exp", "y = the logarithm of the sum of the exponentials over the axes",
    require_numbers, elements(log_sum_exp), reduction_gradient(log_sum_exp_adjoint))};

}  // namespace
}  // namespace rondel::ops
