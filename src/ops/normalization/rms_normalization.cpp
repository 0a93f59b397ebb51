#include "ops/compose.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

using ir::Type;
using ir::ValueId;

std::vector<ValueId> rms_normalized(ir::Builder& b, const ir::Node& node) {
  const ir::Attributes& a = node.attributes;
  const ValueId input = node.inputs[0], scale = node.inputs[1];
  const ir::Ints axes = trailing_axes(b.graph().value(input).type, a.i("axis", -1));
  const ValueId x = wide_value(b, input);
  const ValueId square = reduce_kept(b, "reduce_mean", b("mul", {x, x}), axes);
  const ValueId shifted = b("add", {square, b.scalar(dtype_of(b, x), a.f("epsilon", 1e-5))});
  const ValueId y = b("mul", {x, b("reciprocal", {b("sqrt", {shifted})})});
  return {in_shape_of(b, b("mul", {as(b, y, dtype_of(b, scale)), scale}), input)};
}

void rms_rule(ir::TypeContext& c) {
  same_shape_along_axis(c);
  const Type &x = c.input(0), &scale = c.input(1);
  if (x.has_rank() && scale.has_rank()) broadcast_onto(x.extents(), scale.extents());
  c.output(0, with_dtype(x, scale.dtype()));
}

const ir::OpEntry rms_normalization{{
    .name = "rms_normalization",
    .doc = "y = x / the root of its mean square * scale, over the axes from `axis` on",
    .inputs = {{"x"}, {"scale"}},
    .attributes = {{"axis", -1}, {"epsilon", 1e-5F}, {"stash_type", Type::scalar(DType::f32)}},
    .type = floats_only(rms_rule),
    .meaning = composite(rms_normalized, {0}, "axis"),
}};

}  // namespace
}  // namespace rondel::ops
