#include "base/error.h"
#include "ops/compose.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

std::vector<ValueId> lp_normalized(ir::Builder& b, const ir::Node& node) {
  const ValueId x = wide_value(b, node.inputs[0]);
  const char* norm_op = node.attributes.i("p", 2) == 1 ? "reduce_l1" : "reduce_l2";
  const ValueId norm = reduce_kept(b, norm_op, x, {node.attributes.i("axis", -1)});
  const ValueId zero = b.scalar(dtype_of(b, x), 0.0), one = b.scalar(dtype_of(b, x), 1.0);
  // A norm of 0 is replaced by 1, so that the gradient of a row of zeros is 0, not NaN.
  const ValueId is_zero = b("equal", {norm, zero});
  const ValueId quotient = b("div", {x, b("where", {is_zero, one, norm})});
  const ValueId y = b("where", {is_zero, zero, quotient});
  return {as(b, y, dtype_of(b, node.inputs[0]))};
}

void lp_rule(ir::TypeContext& c) {
  const std::int64_t p = c.attributes().i("p", 2);
  require(p == 1 || p == 2, "p is {}; expected 1 or 2", p);
  same_shape_along_axis(c);
}

const ir::OpEntry lp_normalization{{
    .name = "lp_normalization",
    .doc = "y = x / its norm along the axis; 0 where that is 0",
    .inputs = {{"x"}},
    .attributes = {{"axis", -1}, {"p", 2}},
    .type = floats_only(lp_rule),
    .meaning = composite(lp_normalized),
}};

}  // namespace
}  // namespace rondel::ops
