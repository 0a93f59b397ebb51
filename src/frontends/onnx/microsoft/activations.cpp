// Activations fused with the addition before them, and softmax and dropout with a bias.
#include "frontends/onnx/microsoft/parts.h"

namespace rondel::onnx {
namespace {

/// Inputs 0 and 1 added; input 1, the bias, has an element for each of the last axis, or is left
/// out.
ValueId with_bias(Call& c) {
  require_extent_of(c, 1, -1, 0, -1);
  return plus(c, wide_in(c, 0), wide_in(c, 1));
}

std::vector<ValueId> fast_gelu(Call& c) {
  return {as_first(c, c.one("Gelu", {with_bias(c)}, {{"approximate", std::string("tanh")}}))};
}

std::vector<ValueId> bias_gelu(Call& c) { return {as_first(c, c.one("Gelu", {with_bias(c)}))}; }

std::vector<ValueId> quick_gelu(Call& c) {
  return {c.one("Swish", {c.in(0)}, some_attributes(c, {"alpha"}))};
}

/// The left half of the last axis times gelu of the right half.
std::vector<ValueId> bias_split_gelu(Call& c) {
  const std::vector<ValueId> halves = equal_parts(c, with_bias(c), 2, -1);
  return {as_first(c, times(c, halves[0], c.one("Gelu", {halves[1]})))};
}

std::vector<ValueId> bias_add(Call& c) {
  return {as_first(c, plus(c, with_bias(c), wide_in(c, 2)))};
}

/// Softmax over all axes from `axis` on.
std::vector<ValueId> bias_softmax(Call& c) {
  const ValueId x = plus(c, wide_in(c, 0), wide_in(c, 1));
  const ValueId matrix = c.one("Flatten", {x}, some_attributes(c, {"axis"}));
  const ValueId y = c.one("Softmax", {matrix}, {{"axis", std::int64_t{1}}});
  const ValueId shape = c.one("Shape", {x});
  return {as_first(c, c.one("Reshape", {y, shape}, {{"allowzero", std::int64_t{1}}}))};
}

/// residual + dropout(data + bias).
std::vector<ValueId> bias_dropout(Call& c) {
  std::vector<ValueId> results = c.add("Dropout", {with_bias(c), c.in(3), c.in(4)},
                                       some_attributes(c, {"seed"}), c.outputs);
  results[0] = as_first(c, plus(c, results[0], wide_in(c, 2)));
  return results;
}

}  // namespace

std::span<const Rule> microsoft_activation_rules() {
  static constexpr Rule rules[] = {
      microsoft_rule("FastGelu", fast_gelu),       microsoft_rule("BiasGelu", bias_gelu),
      microsoft_rule("QuickGelu", quick_gelu),     microsoft_rule("BiasSplitGelu", bias_split_gelu),
      microsoft_rule("BiasAdd", bias_add),         microsoft_rule("BiasSoftmax", bias_softmax),
      microsoft_rule("BiasDropout", bias_dropout),
  };
  return rules;
}

}  // namespace rondel::onnx
