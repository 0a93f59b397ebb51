#include "ops/optimizers/optimizer.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

ValueId adagrad_rate(ir::Builder& b, const ir::Attributes& a, ValueId r, ValueId t) {
  const ValueId decay = b("mul",
                          {as(b, t, DType::f64), b.scalar(DType::f64, a.f("decay_factor", 0))});
  return b("div", {r, b("add", {b.scalar(DType::f64, 1), decay})});
}

std::vector<ValueId> adagrad_step(const Update& u, const ir::Attributes& a, ValueId) {
  ir::Builder& b = u.b;
  const ValueId g = u.regularized(a);
  const ValueId h = b("add", {u.states[0], b("mul", {g, g})});
  const ValueId root = b("add", {b("sqrt", {h}), u.number(a.f("epsilon", 1e-6))});
  return {b("sub", {u.x, b("div", {b("mul", {u.r, g}), root})}), h};
}

const Optimizer adagrad_optimizer{1, adagrad_rate, adagrad_step};

const ir::OpEntry adagrad{{
    .name = "adagrad",
    .doc = "variables, and the sums of their squared gradients, after a step of Adagrad",
    .inputs = optimizer_inputs(),
    .outputs = {"tensors"},
    .attributes = {{"decay_factor", 0.0}, {"epsilon", 1e-6F}, {"norm_coefficient", 0.0}},
    .type = [](ir::TypeContext& c) { optimizer_rule(c, 1); },
    .meaning = composite_when(has_all_ranks,
                              [](ir::Builder& b, const ir::Node& n) {
                                return optimizer_update(b, n, adagrad_optimizer);
                              }),
}};

}  // namespace
}  // namespace rondel::ops
