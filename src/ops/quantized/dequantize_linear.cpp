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

/// `element`, a scalar, in the shape of x.
ir::ValueId in_all_places(ir::Builder& b, ir::ValueId element, ir::ValueId x) {
  const ir::ValueId filled = b("expand", {element, b("shape", {x})});
  ir::Type& type = b.graph().value(filled).type;
  type = ir::completed(type, with_dtype(b.graph().value(x).type, dtype_of(b, element)));
  return filled;
}

/// The length of a block of d, i64[1]. A single element, which only the run may know, is the
/// parameter of the whole axis.
ir::ValueId block_length(ir::Builder& b, ir::ValueId d, ir::ValueId parameter, std::int64_t axis,
                         std::int64_t block) {
  const ir::ValueId length = b.integers({block});
  if (!b.graph().value(parameter).type.may_be_one_element()) return length;
  const ir::ValueId one = b("equal", {b("size", {parameter}), b.scalar<std::int64_t>(1)});
  return b("where", {one, extent_of(b, d, axis), length});
}

/// The sums of d over the blocks along `axis` that share a parameter. The last block may be
/// shorter.
ir::ValueId summed_in_blocks(ir::Builder& b, ir::ValueId d, ir::ValueId parameter,
                             std::int64_t axis, std::int64_t block) {
  const ir::ValueId zero = b.integers({0}), blocks = extent_of(b, parameter, axis);
  const ir::ValueId length = block_length(b, d, parameter, axis, block);
  const ir::ValueId all = b("mul", {blocks, length});
  const ir::ValueId missing = b("sub", {all, extent_of(b, d, axis)});
  const ir::ValueId pads = b("concat", {zero, missing}, {{"axis", 0}});
  const ir::ValueId full = b("pad", {d, pads, ir::ValueId::none, b.integers({axis})});
  const ir::ValueId apart = b("concat", {blocks, length}, {{"axis", 0}});
  const ir::ValueId shape = shape_with_extent(b, full, axis, apart);
  const ir::ValueId parts = b("reshape", {full, shape}, {{"allowzero", 1}});
  return b("reduce_sum", {parts, b.integers({axis})}, {{"keepdims", 0}});
}

/// The sums of d, which has the shape of x, over the elements that share an element of
/// `parameter`, the scale or the zero point.
ir::ValueId summed_to_parameter(ir::Builder& b, const ir::Node& node, ir::ValueId d,
                                ir::ValueId parameter) {
  const ir::Type x = b.graph().value(node.inputs[0]).type, given = b.graph().value(parameter).type;
  if (has_one_scale(given)) {
    const ir::ValueId sum = b("reduce_sum", {d}, {{"keepdims", 0}});
    return with_shape_of(b, sum, parameter);
  }
  if (!x.has_rank() || !given.has_rank())
    unsupported("the gradient by scales or zero points of type {} for {}; expected known ranks",
                to_text(given), to_text(x));
  const std::int64_t axis = scaled_axis(node.attributes, x.rank());
  if (has_blocks(node.attributes, x.rank(), given.rank())) {
    const std::int64_t block = node.attributes.i("block_size", 0);
    return summed_to(b, summed_in_blocks(b, d, parameter, axis - x.rank(), block), parameter);
  }
  ir::Ints others;
  for (std::int64_t a = 0; a < x.rank(); ++a)
    if (a != axis) others.push_back(a);
  const ir::ValueId each = b("reduce_sum", {d, b.integers(others)},
                             {{"keepdims", 0}, {"noop_with_empty_axes", 1}});
  return summed_to(b, each, parameter);
}

/// The result is (x - zero_point) * scale, so the derivative by the scale is x - zero_point. It is
/// computed as the result with all scales equal to 1. The derivative by x, which may be a float of
/// at most 8 bits, is the result for ones.
std::vector<ir::ValueId> dequantize_gradient(ir::Builder& b, const ir::Node& node,
                                             std::span<const ir::ValueId> adjoints) {
  std::vector<ir::ValueId> result(node.inputs.size(), ir::ValueId::none);
  const ir::ValueId x = node.inputs[0], scale = node.inputs[1], d = wide_value(b, adjoints[0]);
  const DType from = dtype_of(b, x), own = dtype_of(b, scale), t = dtype_of(b, d);
  ir::Attributes attributes = node.attributes;
  attributes.set("output_dtype", ir::Type());
  const auto times_d = [&](std::vector<ir::ValueId> operands) {
    return b("mul", {d, b("dequantize_linear", std::move(operands), attributes)});
  };
  if (is_float(own) && !is_small_float(own)) {
    std::vector<ir::ValueId> operands = node.inputs;
    operands[1] = in_all_places(b, b.scalar(t, 1), scale);
    result[1] = as(b, summed_to_parameter(b, node, times_d(std::move(operands)), scale), own);
  }
  if (!is_float(from)) return result;
  const ir::ValueId by_x = times_d({in_all_places(b, b.scalar(DType::i8, 1), x), as(b, scale, t)});
  result[0] = as(b, by_x, from);
  if (has_input(node, 2))
    result[2] = as(b, summed_to_parameter(b, node, b("neg", {by_x}), node.inputs[2]), from);
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
