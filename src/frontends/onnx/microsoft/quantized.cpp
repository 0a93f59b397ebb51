// Quantised ops: dequantised, computed and quantised again; products of integers are exact.
#include "frontends/onnx/microsoft/attention.h"

namespace rondel::onnx {
namespace {

/// (x - zero_point) * scale, of three inputs in a row.
ValueId dequantized(Call& c, std::size_t x, std::size_t scale, std::size_t zero_point) {
  return c.one("DequantizeLinear", {c.in(x), c.in(scale), c.in(zero_point)});
}

ValueId dequantized(Call& c, std::size_t x) { return dequantized(c, x, x + 1, x + 2); }

/// y in bytes. Without a zero point it is 0, in the dtype of input `like`.
ValueId quantized(Call& c, ValueId y, std::size_t scale, std::size_t zero_point,
                  std::size_t like = 0) {
  if (c.has(zero_point)) return c.one("QuantizeLinear", {y, c.in(scale), c.in(zero_point)});
  return c.one("QuantizeLinear", {y, c.in(scale)},
               {{"output_dtype", ir::Type::scalar(dtype_of(c, c.in(like)))}});
}

std::vector<ValueId> q_linear_pair(Call& c, const std::string& op) {
  const ValueId y = c.one(op, {dequantized(c, 0), dequantized(c, 3)});
  return {quantized(c, y, 6, 7)};
}

std::vector<ValueId> q_linear_add(Call& c) { return q_linear_pair(c, "Add"); }
std::vector<ValueId> q_linear_mul(Call& c) { return q_linear_pair(c, "Mul"); }

std::vector<ValueId> q_linear_sigmoid(Call& c) {
  return {quantized(c, c.one("Sigmoid", {dequantized(c, 0)}), 3, 4)};
}

std::vector<ValueId> q_linear_leaky_relu(Call& c) {
  const ValueId y = c.one("LeakyRelu", {dequantized(c, 0)}, some_attributes(c, {"alpha"}));
  return {quantized(c, y, 3, 4)};
}

/// Before opset 13, softmax is over all axes from `axis` on.
std::vector<ValueId> q_linear_softmax(Call& c) {
  const ValueId x = dequantized(c, 0);
  const ir::Attributes axis = some_attributes(c, {"axis"});
  if (c.attributes.i("opset") >= 13) return {quantized(c, c.one("Softmax", {x}, axis), 3, 4)};
  const ValueId matrix = c.one("Flatten", {x}, axis);
  const ValueId y = c.one("Softmax", {matrix}, {{"axis", std::int64_t{1}}});
  const ValueId shape = c.one("Shape", {x});
  return {quantized(c, c.one("Reshape", {y, shape}, {{"allowzero", std::int64_t{1}}}), 3, 4)};
}

/// A pooling op, with the channels on axis 1 or last.
std::vector<ValueId> q_linear_pool(Call& c, const std::string& op, const ir::Attributes& a) {
  const bool last = flag(c, "channels_last");
  const ValueId x = dequantized(c, 0);
  const ValueId y = c.one(op, {last ? channels_to_front(c, x) : x}, a);
  return {quantized(c, last ? channels_to_end(c, y) : y, 3, 4)};
}

std::vector<ValueId> q_linear_global_average_pool(Call& c) {
  return q_linear_pool(c, "GlobalAveragePool", {});
}

std::vector<ValueId> q_linear_average_pool(Call& c) {
  flag(c, "ceil_mode");
  flag(c, "count_include_pad");
  return q_linear_pool(c, "AveragePool",
                       some_attributes(c, {"auto_pad", "ceil_mode", "count_include_pad",
                                           "kernel_shape", "pads", "strides"}));
}

std::vector<ValueId> q_linear_reduce_mean(Call& c) {
  const ValueId axes = c.integers(c.attributes.ints("axes"));
  const ValueId y = c.one("ReduceMean", {dequantized(c, 0), axes},
                          some_attributes(c, {"keepdims"}));
  return {quantized(c, y, 3, 4)};
}

/// The inputs after the scale and zero point of the result are triples: tensor, scale, zero point.
std::vector<ValueId> q_linear_concat(Call& c) {
  require(c.inputs.size() % 3 == 2,
          "{} inputs are given; expected 2, and 3 for each tensor that is joined", c.inputs.size());
  std::vector<ValueId> parts;
  for (std::size_t k = 2; k < c.inputs.size(); k += 3) parts.push_back(dequantized(c, k));
  return {quantized(c, joined(c, parts, c.attributes.i("axis")), 0, 1)};
}

std::vector<ValueId> q_linear_where(Call& c) {
  const ValueId y = c.one("Where", {c.in(0), dequantized(c, 1), dequantized(c, 4)});
  return {quantized(c, y, 7, 8)};
}

std::vector<ValueId> q_linear_conv(Call& c) {
  const bool last = flag(c, "channels_last");
  std::vector<ValueId> inputs = c.inputs;
  if (last) inputs[0] = channels_to_front(c, inputs[0]);
  const ValueId y = c.one(
      "QLinearConv", inputs,
      some_attributes(c, {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}));
  return {last ? channels_to_end(c, y) : y};
}

std::vector<ValueId> nhwc_max_pool(Call& c) {
  const ValueId y = c.one("MaxPool", {channels_to_front(c, c.in(0))}, c.attributes);
  return {channels_to_end(c, y)};
}

/// Integer products of inputs a and b with their zero points, times both scales, plus a bias;
/// computed in at least f32. The result has the shape of the products: that of two vectors has no
/// axis, even if a scale has one.
struct IntegerProduct {
  ValueId a, b, a_scale, b_scale, a_zero, b_zero, bias;
};

ValueId integer_product(const Call& c, const IntegerProduct& p) {
  const ValueId sums = c.one("MatMulInteger", {p.a, p.b, p.a_zero, p.b_zero});
  const ValueId scale = times(c, wide(c, p.a_scale), wide(c, p.b_scale));
  const ValueId y = plus(c, times(c, cast(c, sums, dtype_of(c, scale)), scale), wide(c, p.bias));
  if (c.rank(p.a).value_or(0) > 1 || c.rank(p.b).value_or(0) > 1) return y;
  return c.one("Reshape", {y, c.one("Shape", {sums})}, {{"allowzero", std::int64_t{1}}});
}

std::vector<ValueId> mat_mul_integer_to_float(Call& c) {
  const ValueId y = integer_product(
      c, {c.in(0), c.in(1), c.in(2), c.in(3), c.in(4), c.in(5), c.in(6)});
  return {cast(c, y, dtype_of(c, c.in(2)))};
}

/// A is quantised by its own least and greatest element.
std::vector<ValueId> dynamic_quantize_mat_mul(Call& c) {
  const std::vector<ValueId> a = c.add("DynamicQuantizeLinear", {c.in(0)}, {}, 3);
  return {integer_product(c, {a[0], c.in(1), a[1], c.in(2), a[2], c.in(3), c.in(4)})};
}

/// alpha * a_scale * b_scale * (A @ B + C), quantised if y_scale is given. C is in integers.
std::vector<ValueId> q_gemm(Call& c) {
  const auto transposed_if = [&](std::size_t k, std::string_view name) {
    return flag(c, name) ? matrix_transposed(c, c.in(k)) : c.in(k);
  };
  ValueId sums = c.one("MatMulInteger",
                       {transposed_if(0, "transA"), transposed_if(3, "transB"), c.in(2), c.in(5)});
  sums = cast(c, plus(c, sums, c.in(6)), DType::f32);
  const ValueId scale = scaled(c, times(c, c.in(1), c.in(4)), real(c, "alpha"));
  const ValueId y = times(c, sums, scale);
  require(c.has(7) == c.has(8), "one of y_scale and y_zero_point is given; expected both or none");
  if (!c.has(7)) return {y};
  return {quantized(c, y, 7, 8)};
}

/// Attention whose projection is a product of integers.
std::vector<ValueId> q_attention(Call& c) {
  refuse_unless(c, "do_rotary", std::int64_t{0});
  refuse_unless(c, "past_present_share_buffer", std::int64_t{0});
  ProjectedAttention a;
  a.projected = integer_product(c, {c.in(0), c.in(1), c.in(3), c.in(4), c.in(6), c.in(7), c.in(2)});
  a.mask = 5;
  a.past = 8;
  return projected_attention(c, a, dtype_of(c, c.in(2)));
}

}  // namespace

std::span<const Rule> microsoft_quantized_rules() {
  static constexpr Rule rules[] = {
      microsoft_rule("QLinearAdd", q_linear_add),
      microsoft_rule("QLinearMul", q_linear_mul),
      microsoft_rule("QLinearSigmoid", q_linear_sigmoid),
      microsoft_rule("QLinearLeakyRelu", q_linear_leaky_relu),
      microsoft_rule("QLinearSoftmax", q_linear_softmax),
      microsoft_rule("QLinearGlobalAveragePool", q_linear_global_average_pool),
      microsoft_rule("QLinearAveragePool", q_linear_average_pool),
      microsoft_rule("QLinearReduceMean", q_linear_reduce_mean),
      microsoft_rule("QLinearConcat", q_linear_concat),
      microsoft_rule("QLinearWhere", q_linear_where),
      microsoft_rule("QLinearConv", q_linear_conv),
      microsoft_rule("NhwcMaxPool", nhwc_max_pool),
      microsoft_rule("MatMulIntegerToFloat", mat_mul_integer_to_float),
      microsoft_rule("DynamicQuantizeMatMul", dynamic_quantize_mat_mul),
      microsoft_rule("QGemm", q_gemm),
      microsoft_rule("QAttention", q_attention),
  };
  return rules;
}

}  // namespace rondel::onnx
