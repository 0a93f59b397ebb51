// Matrix products and convolutions, fused with transpositions, additions and activations; inverses.
#include "frontends/onnx/microsoft/parts.h"

#include <algorithm>
#include <cmath>
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
      {"HardSwish", {}},
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
  const ValueId a = operand(c, wide_in(c, 0), flag(c, "transBatchA"), flag(c, "transA"));
  const ValueId b = operand(c, wide_in(c, 1), flag(c, "transBatchB"), flag(c, "transB"));
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

/// y plus input 3, which has the shape of y, if it is given.
ValueId plus_as_large(Call& c, ValueId y) {
  ValueId z = wide_in(c, 3);
  for (std::int64_t a = 0; z != ValueId::none && a < c.rank(y).value_or(0); ++a)
    z = with_extent_of(c, z, a, y, a, {"Z", "the convolution"});
  return plus(c, y, z);
}

std::vector<ValueId> fused_conv(Call& c) {
  const ValueId y = c.one("Conv", {wide_in(c, 0), wide_in(c, 1), wide_in(c, 2)},
                          conv_attributes_of(c));
  return {as_first(c, activated_by_list(c, plus_as_large(c, y)))};
}

/// The channels of X, Y and Z are last. W is as in Conv.
std::vector<ValueId> nhwc_conv(Call& c) {
  const ValueId x = channels_to_front(c, wide_in(c, 0));
  const ValueId y = c.one("Conv", {x, wide_in(c, 1), wide_in(c, 2)}, conv_attributes_of(c));
  const ValueId sum = plus_as_large(c, channels_to_end(c, y));
  return {as_first(c, activated_by_list(c, sum))};
}

/// For each matrix, in f64, a power of two that brings its greatest element near 1, so that no
/// determinant overflows or vanishes because of the scale.
ValueId scales_to_one(const Call& c, ValueId x) {
  constexpr double most = 1022;  // 2^most and its inverse are normal numbers
  const ValueId greatest = c.one("ReduceMax", {c.one("Abs", {x}), c.integers({-2, -1})});
  const ValueId power = c.one("Floor", {scaled(c, c.one("Log", {greatest}), -1 / std::log(2.0))});
  const ValueId normal = c.one("Clip",
                               {power, c.number(DType::f64, -most), c.number(DType::f64, most)});
  return c.one("Pow", {c.number(DType::f64, 2), normal});
}

/// The inverses of the matrices in the last two axes, by cofactors in f64: element (j, i) is the
/// determinant of x with row i replaced by zeros and a one in column j, over that of x. Only for
/// small matrices: there are as many determinants as elements.
std::vector<ValueId> inverse(Call& c) {
  constexpr std::int64_t most = 16;
  const ir::Type& type = c.type(c.in(0));
  const std::int64_t rank = known_rank(c, 0);
  require(rank >= 2, "the input is {}; expected matrices", ir::to_text(type));
  const ir::Extent& n = type.extent(rank - 1);
  if (!n.known() || n.value > most)
    unsupported("the inverse of {} is not supported; expected matrices of at most {} known rows",
                ir::to_text(type), most);
  const ValueId given = cast(c, c.in(0), DType::f64), scale = scales_to_one(c, given);
  const ValueId x = times(c, given, scale), at = counted(c, c.integer(n.value));
  const auto along = [&](const ir::Ints& axes) { return unsqueezed(c, at, axes); };
  // Axes [j, i, row, column] after the axes of the stack.
  const ValueId replaced = c.one("Equal", {along({0, 2, 3}), along({0, 1, 3})});
  const ValueId one = c.one("Equal", {along({1, 2, 3}), along({0, 1, 2})});
  const ValueId matrices = unsqueezed(c, x, {-4, -3});
  const ValueId minors = c.one("Where", {replaced, cast(c, one, DType::f64), matrices});
  const ValueId whole = unsqueezed(c, c.one("Det", {x}), {-2, -1});
  const ValueId inverted = c.one("Div", {c.one("Det", {minors}), whole});
  return {as_first(c, times(c, inverted, scale))};
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
      microsoft_rule("Inverse", inverse),
  };
  return rules;
}

}  // namespace rondel::onnx
