#include "ops/compose.h"
#include "ops/type_rules.h"

#include <algorithm>

namespace rondel::ops {
namespace {

using ir::Type;
using ir::ValueId;

std::vector<ValueId> layer_normalized(ir::Builder& b, const ir::Node& node) {
  const ir::Attributes& a = node.attributes;
  const ValueId input = node.inputs[0];
  const ir::Ints axes = trailing_axes(b.graph().value(input).type, a.i("axis", -1));
  const ValueId x = wide_value(b, input);
  const DType t = dtype_of(b, x);
  const ValueId mean = reduce_kept(b, "reduce_mean", x, axes);
  const ValueId d = b("sub", {x, mean});
  const ValueId variance = reduce_kept(b, "reduce_mean", b("mul", {d, d}), axes);
  const ValueId deviation = b("sqrt", {b("add", {variance, b.scalar(t, a.f("epsilon", 1e-5))})});
  const ValueId inverse = b("reciprocal", {deviation});
  const DType own = dtype_of(b, input);
  ValueId y = b("mul", {as(b, b("mul", {d, inverse}), own), as(b, node.inputs[1], own)});
  if (has_input(node, 2)) y = b("add", {y, as(b, node.inputs[2], own)});
  y = in_shape_of(b, y, input);
  const DType stash = dtype_attribute(a, "stash_type");
  return {y, has_output(node, 1) ? as(b, mean, stash) : ValueId::none,
          has_output(node, 2) ? as(b, inverse, stash) : ValueId::none};
}

void layer_rule(ir::TypeContext& c) {
  same_shape_along_axis(c);
  for (std::size_t k = 1; k < c.input_count(); ++k)
    if (c.has(k) && c.input(0).has_rank() && c.input(k).has_rank())
      broadcast_onto(c.input(0).extents(), c.input(k).extents());
  const Type& x = c.input(0);
  Type stash = Type::unranked(dtype_attribute(c.attributes(), "stash_type"));
  if (x.has_rank()) {
    ir::Extents kept = x.extents();
    const auto first = normal_axis(c.attributes().i("axis", -1), x.rank());
    std::fill(kept.begin() + first, kept.end(), ir::Extent(1));
    stash = Type::tensor(stash.dtype(), std::move(kept));
  }
  for (std::size_t j = 1; j < c.output_count(); ++j) c.output(j, stash);
}

const ir::OpEntry layer_normalization{{
    .name = "layer_normalization",
    .doc = "y = (x - mean) / deviation * scale + bias, over the axes from `axis` on",
    .inputs = {{"x"}, {"scale"}, {"bias", ir::InputDef::optional}},
    .outputs = {"y", "mean", "inverse_deviation"},
    .attributes = {{"axis", -1}, {"epsilon", 1e-5F}, {"stash_type", Type::scalar(DType::f32)}},
    .type = floats_only(layer_rule),
    .meaning = composite(layer_normalized, {0}, "axis"),
}};

}  // namespace
}  // namespace rondel::ops
