// Matrix products and convolutions, fused with transpositions, additions and activations; products
// with weights of a few bits.
#include "frontends/onnx/microsoft/parts.h"

#include <algorithm>
#include <numeric>

namespace rondel::onnx {
namespace {

/// An activation that may follow a product, and the names of its parameters, in order.
struct Activation {
  std::string_view name;
  std::vector<std::string_view> parameters;
};

const Activation* find_activation(const std::string& name) {
  static const Activation all[] = {
      {"Relu", {}},
      {"Sigmoid", {}},
      {"Tanh", {}},
      {"Softplus", {}},
      {"Softsign", {}},
      {"LeakyRelu", {"alpha"}},
      {"Elu", {"alpha"}},
      {"Celu", {"alpha"}},
      {"ThresholdedRelu", {"alpha"}},
      {"HardSigmoid", {"alpha", "beta"}},
      {"Selu", {"alpha", "gamma"}},
  };
  for (const Activation& a : all)
    if (a.name == name) return &a;
  return nullptr;
}

/// y after the node's activation, if it has one. `parameter` gives the k-th parameter by its name,
/// or nothing if the activation's own default holds.
template <class Parameter> ValueId activated(Call& c, ValueId y, const Parameter& parameter) {
  const std::string name = c.attributes.s("activation", "");
  if (name.empty()) return y;
  if (name == "Clip") {
    const auto bound = [&](std::size_t k) {
      const std::optional<double> limit = parameter(k, k == 0 ? "alpha" : "beta");
      return limit ? c.number(dtype_of(c, y), *limit) : ValueId::none;
    };
    return c.one("Clip", {y, bound(0), bound(1)});
  }
  const Activation* activation = find_activation(name);
  if (activation == nullptr) refuse_attribute(c, "activation");
  ir::Attributes given;
  for (std::size_t k = 0; k < activation->parameters.size(); ++k)
    if (const std::optional<double> p = parameter(k, activation->parameters[k]))
      given.set(std::string(activation->parameters[k]), *p);
  return c.one(name, {y}, std::move(given));
}

/// The activation of FusedConv and its kin, whose parameters are one list.
ValueId activated_by_list(Call& c, ValueId y) {
  const ir::Floats list = c.attributes.floats("activation_params");
  return activated(c, y, [&](std::size_t k, std::string_view) -> std::optional<double> {
    if (k >= list.size()) return std::nullopt;
    return list[k];
  });
}

/// The activation of FusedGemm, whose parameters are attributes: activation_alpha, ...
ValueId activated_by_attributes(Call& c, ValueId y) {
  return activated(c, y, [&](std::size_t, std::string_view name) -> std::optional<double> {
    const std::string attribute = "activation_" + std::string(name);
    if (!c.attributes.has(attribute)) return std::nullopt;
    return real(c, attribute);
  });
}

/// The operand of a FusedMatMul. `batch`: its first axis is moved before its last one. `matrix`:
/// its last two axes are exchanged. A vector stays as it is.
ValueId operand(const Call& c, ValueId x, bool batch, bool matrix) {
  if (!batch && !matrix) return x;
  const auto rank = c.rank(x);
  if (!rank)
    unsupported("a transposed operand {}, whose rank is not known", ir::to_text(c.type(x)));
  if (*rank < 2) return x;
  ir::Ints perm(static_cast<std::size_t>(*rank));
  std::iota(perm.begin(), perm.end(), 0);
  if (batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (matrix) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transposed(c, x, std::move(perm));
}

std::vector<ValueId> fused_mat_mul(Call& c) {
  const auto flag = [&](std::string_view name) { return integer(c, name) != 0; };
  const ValueId a = operand(c, wide_in(c, 0), flag("transBatchA"), flag("transA"));
  const ValueId b = operand(c, wide_in(c, 1), flag("transBatchB"), flag("transB"));
  return {as_first(c, scaled(c, c.one("MatMul", {a, b}), real(c, "alpha")))};
}

std::vector<ValueId> fused_gemm(Call& c) {
  const ValueId y = c.one("Gemm", {wide_in(c, 0), wide_in(c, 1), wide_in(c, 2)},
                          some_attributes(c, {"alpha", "beta", "transA", "transB"}));
  return {as_first(c, activated_by_attributes(c, y))};
}

std::vector<ValueId> gemm_fast_gelu(Call& c) {
  const ValueId sum = plus(c, c.one("MatMul", {wide_in(c, 0), wide_in(c, 1)}), wide_in(c, 2));
  return {as_first(c, c.one("Gelu", {sum}, {{"approximate", std::string("tanh")}}))};
}

ir::Attributes conv_attributes_of(const Call& c) {
  return some_attributes(c, {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
}

std::vector<ValueId> fused_conv(Call& c) {
  const ValueId y = c.one("Conv", {wide_in(c, 0), wide_in(c, 1), wide_in(c, 2)},
                          conv_attributes_of(c));
  return {as_first(c, activated_by_list(c, plus(c, y, wide_in(c, 3))))};
}

/// The channels of X, Y and Z are last. W is as in Conv.
std::vector<ValueId> nhwc_conv(Call& c) {
  const ValueId x = channels_to_front(c, wide_in(c, 0));
  const ValueId y = c.one("Conv", {x, wide_in(c, 1), wide_in(c, 2)}, conv_attributes_of(c));
  const ValueId sum = plus(c, channels_to_end(c, y), wide_in(c, 3));
  return {as_first(c, activated_by_list(c, sum))};
}

/// The numbers of `bits` bits that each byte of x holds along the last axis, the lowest first.
ValueId unpacked(const Call& c, ValueId x, std::int64_t bits) {
  if (bits == 8) return x;
  const auto in_byte = static_cast<std::size_t>(8 / bits);
  Tensor shifts(DType::u8, {static_cast<std::int64_t>(in_byte)});
  for (std::size_t k = 0; k < in_byte; ++k)
    shifts.data_as<std::uint8_t>()[k] = static_cast<std::uint8_t>(k *
                                                                  static_cast<std::size_t>(bits));
  const auto mask = static_cast<std::uint8_t>((1 << bits) - 1);
  const ValueId shifted = c.one("BitShift", {unsqueezed(c, x, {-1}), c.constant(std::move(shifts))},
                                {{"direction", std::string("RIGHT")}});
  const ValueId parts = c.one("BitwiseAnd", {shifted, c.constant(Tensor::scalar(mask))});
  const std::int64_t rank = c.rank(x).value_or(0);
  ir::Ints shape(static_cast<std::size_t>(rank), 0);
  shape.back() = -1;
  return reshaped(c, parts, shape);
}

/// The shape of MatMulNBits' weights: N rows of K numbers in blocks.
struct BlockShape {
  std::int64_t rows, columns, size, bits;
  std::int64_t blocks() const { return (columns + size - 1) / size; }
};

/// One zero point for each block [N, blocks, 1]: in bytes like the weights, or as floats; else the
/// middle of the range.
ValueId block_zero_points(Call& c, const BlockShape& s, DType t) {
  if (!c.has(3)) return c.number(t, static_cast<double>(std::int64_t{1} << (s.bits - 1)));
  const ir::Ints shape{s.rows, s.blocks(), 1};
  if (dtype_of(c, c.in(3)) != DType::u8) return reshaped(c, cast(c, c.in(3), t), shape);
  const ValueId rows = unpacked(c, reshaped(c, c.in(3), {s.rows, -1}), s.bits);
  const ValueId used = sliced(c, rows, c.integers({0}), c.integers({s.blocks()}), 1);
  return reshaped(c, cast(c, used, t), shape);
}

/// The weights [N, K] as floats: (B - zero_point) * scale, block by block.
ValueId dequantized_blocks(Call& c, const BlockShape& s, DType t) {
  const ValueId numbers = cast(
      c, unpacked(c, reshaped(c, c.in(1), {s.rows, s.blocks(), -1}), s.bits), t);
  const ValueId zero = block_zero_points(c, s, t);
  const ValueId scale = reshaped(c, cast(c, c.in(2), t), {s.rows, s.blocks(), 1});
  if (!c.has(4)) {
    const ValueId blocks = times(c, minus(c, numbers, zero), scale);
    return sliced(c, reshaped(c, blocks, {s.rows, -1}), c.integers({0}), c.integers({s.columns}),
                  1);
  }
  // g_idx names the block of each column.
  const auto by_column = [&](ValueId v) {
    const ValueId rows = c.one("Squeeze", {v, c.integers({2})});
    return c.one("Gather", {rows, c.in(4)}, {{"axis", std::int64_t{1}}});
  };
  const ValueId all = sliced(c, reshaped(c, numbers, {s.rows, -1}), c.integers({0}),
                             c.integers({s.columns}), 1);
  const ValueId centered = minus(c, all, c.has(3) ? by_column(zero) : zero);
  return times(c, centered, by_column(scale));
}

/// A @ B^T + bias. `accuracy_level` says how far A may be rounded; it is not rounded at all.
std::vector<ValueId> mat_mul_n_bits(Call& c) {
  const BlockShape s{c.attributes.i("N"), c.attributes.i("K"), c.attributes.i("block_size"),
                     integer(c, "bits")};
  if (s.bits != 2 && s.bits != 4 && s.bits != 8) refuse_attribute(c, "bits");
  if (s.size < 16 || (s.size & (s.size - 1)) != 0) refuse_attribute(c, "block_size");
  require(s.rows > 0, "attribute 'N' = {}; expected a positive number", s.rows);
  require(s.columns > 0, "attribute 'K' = {}; expected a positive number", s.columns);
  refuse_unless(c, "weight_prepacked", std::int64_t{0});
  const ValueId a = wide_in(c, 0);
  const ValueId weights = dequantized_blocks(c, s, dtype_of(c, a));
  const ValueId y = c.one("MatMul", {a, transposed(c, weights, {1, 0})});
  return {as_first(c, plus(c, y, wide_in(c, 5)))};
}

}  // namespace

std::span<const Rule> microsoft_product_rules() {
  static constexpr Rule rules[] = {
      microsoft_rule("FusedMatMul", fused_mat_mul),
      microsoft_rule("TransposeMatMul", fused_mat_mul),
      microsoft_rule("FusedGemm", fused_gemm),
      microsoft_rule("GemmFastGelu", gemm_fast_gelu),
      microsoft_rule("FusedConv", fused_conv),
      microsoft_rule("NhwcConv", nhwc_conv),
      microsoft_rule("NhwcFusedConv", nhwc_conv),
      microsoft_rule("MatMulNBits", mat_mul_n_bits),
  };
  return rules;
}

}  // namespace rondel::onnx
