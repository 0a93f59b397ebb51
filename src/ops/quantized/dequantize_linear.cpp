#include "base/error.h"
#include "ops/gradients.h"
#include "ops/quantized/quantization.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

Ex dequantized(Emitter& e, std::size_t, const Indices& index) {
  scalar::Builder& b = e.builder();
  const DType wide = scalar::compute_type(e.output_dtype());
  Ex x = b.cast(wide, e.load(0, index));
  if (e.has(2)) x = x - b.cast(wide, load_parameter(e, 2, index));
  return b.cast(e.output_dtype(), x * b.cast(wide, load_parameter(e, 1, index)));
}

void dequantize_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const DType from = c.input(0).dtype();
  require(is_quantized(from) || from == DType::i32,
          "input 0 is {}; expected i32, an integer of at most 16 bits or a float of at most 8",
          name(from));
  require_scale(c, 1);
  if (c.has(2)) require_same_dtype(c, 0, 2);
  const ir::Type& asked = c.attributes().type("output_dtype");
  const DType to = asked.is_tensor() ? asked.dtype() : c.input(1).dtype();
  require(is_float(to) && !is_small_float(to),
          "the result would be {}; expected a float of 16 bits and up; give output_dtype?",
          name(to));
  require_granularity(c);
  c.output(0, with_dtype(c.input(0), to));
}

/// The sums of d over the blocks along `axis` that share a scale. The last block may be shorter.
ir::ValueId summed_in_blocks(ir::Builder& b, ir::ValueId d, ir::ValueId scale, std::int64_t axis,
                             std::int64_t block) {
  const ir::ValueId zero = b.integers({0}), blocks = extent_of(b, scale, axis);
  const ir::ValueId all = b("mul", {blocks, b.integers({block})});
  const ir::ValueId missing = b("sub", {all, extent_of(b, d, axis)});
  const ir::ValueId pads = b("concat", {zero, missing}, {{"axis", 0}});
  const ir::ValueId full = b("pad", {d, pads, ir::ValueId::none, b.integers({axis})});
  const ir::ValueId apart = b("concat", {blocks, b.integers({block})}, {{"axis", 0}});
  const ir::ValueId shape = shape_with_extent(b, full, axis, apart);
  const ir::ValueId parts = b("reshape", {full, shape}, {{"allowzero", 1}});
  return b("reduce_sum", {parts, b.integers({axis})}, {{"keepdims", 0}});
}

/// The sums of d, which has the shape of x, over the elements that share a scale.
ir::ValueId summed_to_scales(ir::Builder& b, const ir::Node& node, ir::ValueId d) {
  const ir::Type x = b.graph().value(node.inputs[0]).type,
                 scale = b.graph().value(node.inputs[1]).type;
  if (has_one_scale(scale)) {
    const ir::ValueId sum = b("reduce_sum", {d}, {{"keepdims", 0}});
    return with_shape_of(b, sum, node.inputs[1]);
  }
  if (!x.has_rank() || !scale.has_rank())
    unsupported("the gradient by scales of type {} for {}; expected known ranks", to_text(scale),
                to_text(x));
  const std::int64_t axis = scaled_axis(node.attributes, x.rank());
  if (has_blocks(node.attributes, x.rank(), scale.rank())) {
    const std::int64_t block = node.attributes.i("block_size", 0);
    const ir::ValueId each = summed_in_blocks(b, d, node.inputs[1], axis - x.rank(), block);
    return summed_to(b, each, node.inputs[1]);
  }
  ir::Ints others;
  for (std::int64_t a = 0; a < x.rank(); ++a)
    if (a != axis) others.push_back(a);
  const ir::ValueId each = b("reduce_sum", {d, b.integers(others)},
                             {{"keepdims", 0}, {"noop_with_empty_axes", 1}});
  return summed_to(b, each, node.inputs[1]);
}

/// The result is (x - zero_point) * scale, so the derivative by the scale is x - zero_point. It is
/// computed as the result with all scales equal to 1.
std::vector<ir::ValueId> dequantize_gradient(ir::Builder& b, const ir::Node& node,
                                             std::span<const ir::ValueId> adjoints) {
  std::vector<ir::ValueId> result(node.inputs.size(), ir::ValueId::none);
  const DType own = dtype_of(b, node.inputs[1]);
  if (!is_float(own) || is_small_float(own)) return result;
  const ir::ValueId d = wide_value(b, adjoints[0]);
  const DType t = dtype_of(b, d);
  std::vector<ir::ValueId> operands = node.inputs;
  operands[1] = b("expand", {b.scalar(t, 1), b("shape", {node.inputs[1]})});
  ir::Attributes attributes = node.attributes;
  attributes.set("output_dtype", ir::Type());
  const ir::ValueId integers = b("dequantize_linear", std::move(operands), std::move(attributes));
  result[1] = as(b, summed_to_scales(b, node, b("mul", {d, integers})), own);
  return result;
}

const ir::OpEntry dequantize_linear{{
    .name = "dequantize_linear",
    .doc = "y = (x - zero_point) * scale, for the tensor, an axis or its blocks",
    .inputs = {{"x"}, {"scale"}, {"zero_point", ir::InputDef::optional}},
    .attributes = {{"axis", 1}, {"block_size", 0}, {"output_dtype", ir::Type()}},
    .type = dequantize_rule,
    .meaning = elements(dequantized),
    .gradient = dequantize_gradient,
}};

}  // namespace
}  // namespace rondel::ops
