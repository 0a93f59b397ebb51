#include "ops/optimizers/optimizer.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

/// Bias correction: the averages V and H begin at zero, so they are divided by 1 - alpha^t and
/// 1 - beta^t. At t = 0 there is no correction.
ValueId adam_rate(ir::Builder& b, const ir::Attributes& a, ValueId r, ValueId t) {
  const ValueId one = b.scalar(DType::f64, 1), updates = as(b, t, DType::f64);
  const auto missing = [&](double decay) {
    return b("sub", {one, b("pow", {b.scalar(DType::f64, decay), updates})});
  };
  const ValueId correction = b(
      "div", {b("sqrt", {missing(a.f("beta", 0.999))}), missing(a.f("alpha", 0.9))});
  const ValueId updated = b("greater", {t, b.scalar<std::int64_t>(0)});
  return b("mul", {r, b("where", {updated, correction, one})});
}

std::vector<ValueId> adam_step(const Update& u, const ir::Attributes& a, ValueId) {
  ir::Builder& b = u.b;
  const double alpha = a.f("alpha", 0.9), beta = a.f("beta", 0.999);
  const ValueId g = u.regularized(a);
  const ValueId v = b("add", {u.scaled(alpha, u.states[0]), u.scaled(1 - alpha, g)});
  const ValueId h = b("add", {u.scaled(beta, u.states[1]), u.scaled(1 - beta, b("mul", {g, g}))});
  const ValueId root = b("add", {b("sqrt", {h}), u.number(a.f("epsilon", 1e-6))});
  const ValueId x = b("sub", {u.x, b("mul", {u.r, b("div", {v, root})})});
  return {u.scaled(1 - a.f("norm_coefficient_post", 0), x), v, h};
}

const Optimizer adam_optimizer{2, adam_rate, adam_step};

const ir::OpEntry adam{{
    .name = "adam",
    .doc = "variables, averages of their gradients and of the squares, after a step of Adam",
    .inputs = optimizer_inputs(),
    .outputs = {"tensors"},
    .attributes = {{"alpha", 0.9F},
                   {"beta", 0.999F},
                   {"epsilon", 1e-6F},
                   {"norm_coefficient", 0.0},
                   {"norm_coefficient_post", 0.0}},
    .type = [](ir::TypeContext& c) { optimizer_rule(c, 2); },
    .meaning = composite_when(
        has_all_ranks,
        [](ir::Builder& b, const ir::Node& n) { return optimizer_update(b, n, adam_optimizer); }),
}};

}  // namespace
}  // namespace rondel::ops
