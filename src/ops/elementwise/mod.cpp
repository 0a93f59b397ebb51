#include "ops/gradients.h"
#include "ops/type_rules.h"
#include "ops/wide.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

Ex remainder(Emitter& e, std::span<const Ex> x) {
  const Ex a = widened(x[0]), b = widened(x[1]);
  if (is_integer(b.type())) b.builder().check(b != 0, "integer remainder of division by zero");
  Ex r = is_float(b.type()) ? scalar::fmod(a, b) : a % b;
  if (!e.attributes().flag("fmod") && !is_unsigned_integer(b.type())) {
    const Ex zero = scalar::literal(b, 0);
    r = select(r == zero, r, select((r < zero) == (b < zero), r, r + b));
    if (is_float(b.type())) r = select(r == zero, select(b < zero, -abs(r), abs(r)), r);
  }
  return narrowed(x[0].type(), r);
}

/// Both kinds of remainder are equal if neither operand is negative.
void mod_rule(ir::TypeContext& c) {
  broadcast_rule(c);
  combine_elements(c, [](const ir::Integer& a, const ir::Integer& b) {
    return a.at_least(0) && b.at_least(0) ? a - b * floor_div(a, b) : ir::Integer();
  });
}

/// c = a - b * q, where the integer q is constant around almost every point.
std::vector<ir::ValueId> mod_gradient(ir::Builder& b, const ir::Node& node,
                                      std::span<const ir::ValueId> adjoints) {
  const ir::ValueId x = node.inputs[0], y = node.inputs[1], c = adjoints[0];
  const ir::ValueId q = b("round", {b("div", {b("sub", {x, node.outputs[0]}), y})});
  return {summed_to(b, c, x), summed_to(b, b("neg", {b("mul", {c, q})}), y)};
}

const ir::OpEntry mod_op{{
    .name = "mod",
    .doc = "c = remainder of a / b: with the sign of b, or (fmod = 1) of a",
    .inputs = {{"a"}, {"b"}},
    .outputs = {"c"},
    .attributes = {{"fmod", 0}},
    .type = numbers_only(mod_rule),
    .meaning = elementwise(remainder),
    .can_fail = may_divide_by_zero,
    .gradient = mod_gradient,
}};

}  // namespace
}  // namespace rondel::ops
