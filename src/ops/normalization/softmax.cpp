#include "ops/compose.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

/// One division for all elements along the axis: their sum is between 1 and their number.
std::vector<ValueId> softmax_of(ir::Builder& b, const ir::Node& node) {
  const ir::Ints axis{node.attributes.i("axis", -1)};
  const ValueId x = wide_value(b, node.inputs[0]);
  const ValueId e = b("exp", {less_greatest(b, x, axis)});
  const ValueId sum = reduce_kept(b, "reduce_sum", e, axis);
  const ValueId y = b("mul", {e, b("reciprocal", {sum})});
  return {as(b, y, dtype_of(b, node.inputs[0]))};
}

const ir::OpEntry softmax{{
    .name = "softmax",
    .doc = "y = exp(x) / sum(exp(x)) along the axis",
    .inputs = {{"x"}},
    .attributes = {{"axis", -1}},
    .type = floats_only(same_shape_along_axis),
    .meaning = composite(softmax_of),
}};

}  // namespace
}  // namespace rondel::ops
