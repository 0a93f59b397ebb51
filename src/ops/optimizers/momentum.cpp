#include "base/error.h"
#include "ops/optimizers/optimizer.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

std::vector<ValueId> momentum_step(const Update& u, const ir::Attributes& a, ValueId t) {
  ir::Builder& b = u.b;
  const double alpha = a.f("alpha", 0), beta = a.f("beta", 1);
  const ValueId g = u.regularized(a);
  ValueId share = g;
  if (beta != 1) {
    const ValueId updated = b("greater", {t, b.scalar<std::int64_t>(0)});
    share = b("mul", {b("where", {updated, u.number(beta), u.number(1)}), g});
  }
  const ValueId v = b("add", {u.scaled(alpha, u.states[0]), share});
  const bool nesterov = a.s("mode", {}) == "nesterov";
  const ValueId direction = nesterov ? b("add", {g, u.scaled(alpha, v)}) : v;
  return {b("sub", {u.x, b("mul", {u.r, direction})}), v};
}

const Optimizer momentum_optimizer{
    1, [](ir::Builder&, const ir::Attributes&, ValueId r, ValueId) { return r; }, momentum_step};

void momentum_rule(ir::TypeContext& c) {
  const std::string mode = c.attributes().s("mode", {});
  require(mode == "standard" || mode == "nesterov",
          "mode is '{}'; expected 'standard' or 'nesterov'", mode);
  optimizer_rule(c, 1);
}

const ir::OpEntry momentum{{
    .name = "momentum",
    .doc = "variables, and their momenta, after a step of gradient descent with momentum",
    .inputs = optimizer_inputs(),
    .outputs = {"tensors"},
    .required = {"alpha", "beta", "mode", "norm_coefficient"},
    .type = momentum_rule,
    .meaning = composite_when(has_all_ranks,
                              [](ir::Builder& b, const ir::Node& n) {
                                return optimizer_update(b, n, momentum_optimizer);
                              }),
}};

}  // namespace
}  // namespace rondel::ops
