// Quantised ops: dequantised, computed and quantised again; products of integers are exact.
#include "frontends/onnx/microsoft/attention.h"

namespace rondel::onnx {
namespace {

/// Input x, whose scale and zero point are the next inputs, as floats.
ValueId dequantized(Call& c, std::size_t x) { return dequantized(c, c.in(x), x + 1, x + 2); }

/// Requires that input k, if it is given, has the dtype of input `like`.
void require_dtype_of(const Call& c, std::size_t k, std::size_t like) {
  require(!c.has(k) || dtype_of(c, c.in(k)) == dtype_of(c, c.in(like)),
          "{} and {}; expected one dtype", input_text(c, like), input_text(c, k));
}

/// y in bytes, in the dtype of input `like`. A zero point that is left out is 0.
ValueId quantized(Call& c, ValueId y, std::size_t scale, std::size_t zero_point,
                  std::size_t like = 0) {
  require_dtype_of(c, zero_point, like);
  return c.one("QuantizeLinear", {y, one_element(c, scale), one_element(c, zero_point)},
               {{"output_dtype", ir::Type::scalar(dtype_of(c, c.in(like)))}});
}

std::vector<ValueId> q_linear_pair(Call& c, const std::string& op) {
  require_dtype_of(c, 3, 0);
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
  for (std::size_t k = 2; k < c.inputs.size(); k += 3) {
    require_dtype_of(c, k, 1);
    parts.push_back(dequantized(c, k));
  }
  return {quantized(c, joined(c, parts, c.attributes.i("axis")), 0, 1, 1)};
}

std::vector<ValueId> q_linear_where(Call& c) {
  require_dtype_of(c, 4, 1);
  const ValueId y = c.one("Where", {c.in(0), dequantized(c, 1), dequantized(c, 4)});
  return {quantized(c, y, 7, 8, 1)};
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

/// Requires that input k has one element for each column of `product`, or one for all, as far as
/// the types tell.
void require_columns(const Call& c, std::size_t k, ValueId product) {
  const ir::Type &given = c.type(c.in(k)), &y = c.type(product);
  if (given.may_be_one_element() || !given.has_rank() || !y.has_rank() || y.rank() == 0) return;
  const ir::Extent &own = given.extent(given.rank() - 1), &columns = y.extent(y.rank() - 1);
  require(!own.known() || !columns.known() || own.value == columns.value || own.value == 1,
          "{} beside {} columns; expected one element, or one for each column", input_text(c, k),
          columns.value);
}

/// Whether input k certainly has no axis that x lacks, and each of its extents is 1 or that of x.
bool is_broadcast_to(const Call& c, std::size_t k, ValueId x) {
  if (!c.has(k)) return true;
  const ir::Type &given = c.type(c.in(k)), &type = c.type(x);
  if (!given.has_rank() || !type.has_rank() || given.rank() > type.rank()) return false;
  for (std::int64_t a = 0; a < given.rank(); ++a) {
    const ir::Extent& own = given.extent(a);
    if (!(own == ir::Extent(1)) && !(own == type.extent(a + type.rank() - given.rank())))
      return false;
  }
  return true;
}

/// Integer products of a and input b with their zero points, times both scales, plus a bias, which
/// may be left out; computed in at least f32. a has one scale and one zero point, scalars; b may
/// have one for each column. The result has the shape of the products: that of two vectors has no
/// axis, even if a scale has one.
struct IntegerProduct {
  ValueId a, a_scale, a_zero;
  std::size_t b, b_scale, b_zero, bias;
};

ValueId integer_product(const Call& c, const IntegerProduct& p) {
  const ValueId sums = c.one("MatMulInteger", {p.a, c.in(p.b), p.a_zero, c.in(p.b_zero)});
  require_columns(c, p.b_scale, sums);
  const ValueId scale = times(c, wide(c, p.a_scale), wide_in(c, p.b_scale));
  ValueId y = times(c, cast(c, sums, dtype_of(c, scale)), scale);
  if (!is_broadcast_to(c, p.b_scale, sums)) y = in_shape_of(c, y, sums);
  if (!c.has(p.bias)) return y;
  const std::int64_t axis = c.rank(y).value_or(1) - 1;
  if (axis < 0) return plus(c, y, wide(c, one_element(c, p.bias)));
  const ValueId bias = wide_in(c, p.bias),
                list = c.rank(bias) == 1 ? bias : reshaped(c, bias, {-1});
  const auto name = [&c](std::size_t k) { return c.schema.inputs()[k].GetName(); };
  return plus(c, y,
              with_extent_of(c, list, 0, y, c.rank(y) ? axis : -1, {name(p.bias), "the products"}));
}

std::vector<ValueId> mat_mul_integer_to_float(Call& c) {
  const ValueId y = integer_product(c, {c.in(0), one_element(c, 2), one_element(c, 4), 1, 3, 5, 6});
  return {cast(c, y, dtype_of(c, c.in(2)))};
}

/// A is quantised by its own least and greatest element.
std::vector<ValueId> dynamic_quantize_mat_mul(Call& c) {
  const std::vector<ValueId> a = c.add("DynamicQuantizeLinear", {c.in(0)}, {}, 3);
  return {integer_product(c, {a[0], a[1], a[2], 1, 2, 3, 4})};
}

/// alpha * a_scale * b_scale * (A @ B + C), quantised if y_scale is given. C is in integers.
std::vector<ValueId> q_gemm(Call& c) {
  for (const std::size_t k : {0U, 3U}) require_rank(c, k, 2);
  const auto transposed_if = [&](std::size_t k, std::string_view name) {
    return flag(c, name) ? matrix_transposed(c, c.in(k)) : c.in(k);
  };
  const ValueId products = c.one(
      "MatMulInteger",
      {transposed_if(0, "transA"), transposed_if(3, "transB"), one_element(c, 2), c.in(5)});
  require_columns(c, 4, products);
  const ValueId sums = cast(c, plus(c, products, c.in(6)), DType::f32);
  const ValueId scale = scaled(c, times(c, one_element(c, 1), c.in(4)), real(c, "alpha"));
  ValueId y = times(c, sums, scale);
  if (!is_broadcast_to(c, 4, products) || !is_broadcast_to(c, 6, products))
    y = in_shape_of(c, y, products);
  require(c.has(7) == c.has(8), "one of y_scale and y_zero_point is given; expected both or none");
  if (!c.has(7)) return {y};
  return {c.one("QuantizeLinear", {y, one_element(c, 7), one_element(c, 8)})};
}

/// Attention whose projection is a product of integers.
std::vector<ValueId> q_attention(Call& c) {
  refuse_unless(c, "do_rotary", std::int64_t{0});
  refuse_unless(c, "past_present_share_buffer", std::int64_t{0});
  ProjectedAttention a;
  require_rank(c, 0, 3);
  require_rank(c, 1, 2);
  a.projected = integer_product(c, {c.in(0), one_element(c, 3), one_element(c, 6), 1, 4, 7, 2});
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
