#include "ops/compose.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

std::vector<ValueId> log_softmax_of(ir::Builder& b, const ir::Node& node) {
  const ir::Ints axis{node.attributes.i("axis", -1)};
  const ValueId x = wide_value(b, node.inputs[0]);
  const ValueId below = less_greatest(b, x, axis);
  const ValueId total = reduce_kept(b, "reduce_sum", b("exp", {below}), axis);
  return {as(b, b("sub", {below, b("log", {total})}), dtype_of(b, node.inputs[0]))};
}

const ir::OpEntry log_softmax{{
    .name = "log_softmax",
    .doc = "y = log(exp(x) / sum(exp(x))) along the axis",
    .inputs = {{"x"}},
    .attributes = {{"axis", -1}},
    .type = floats_only(same_shape_along_axis),
    .meaning = composite(log_softmax_of),
}};

}  // namespace
}  // namespace rondel::ops
