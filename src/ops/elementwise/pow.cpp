#include "ops/derivative.h"
#include "ops/type_rules.h"
#include "ops/wide.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

Ex power(Ex x, Ex y) {
  if (is_integer(x.type()) && is_integer(y.type())) return integer_pow(x, cast(x.type(), y));
  const bool f64 = is_integer(x.type()) || x.type() == DType::f64;
  const DType t = f64 ? DType::f64 : DType::f32;
  return narrowed(x.type(), scalar::pow(narrowed(t, x), narrowed(t, y)));
}

void pow_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, number_dtypes());
  require_dtypes(c, 1, number_dtypes());
  const ir::Type* both[] = {&c.input(0), &c.input(1)};
  auto extents = broadcast_extents(c, both);
  const DType t = c.input(0).dtype();
  if (extents) holds_if_broadcasts(c, both, *extents);
  c.output(0, extents ? ir::Type::tensor(t, *extents) : ir::Type::unranked(t));
}

const ir::OpEntry pow_op{{
    .name = "pow",
    .doc = "z = x to the power y, of x's dtype; an integer to a negative power is 0 unless |x| = 1",
    .inputs = {{"x"}, {"y"}},
    .outputs = {"z"},
    .type = pow_rule,
    .meaning = elementwise(power),
    .transcendental = true,
    .gradient = derivative<2>([](auto&, auto a, auto b) { return pow(a, b); }),
}};

}  // namespace
}  // namespace rondel::ops
