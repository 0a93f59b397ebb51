// Normalisations of layers and groups, with what is added before them.
#include "frontends/onnx/microsoft/parts.h"

namespace rondel::onnx {
namespace {

ir::Attributes last_axis(const Call& c) {
  ir::Attributes a = some_attributes(c, {"epsilon"});
  a.set("axis", std::int64_t{-1});
  return a;
}

/// input + skip + bias, in the shape of the input. A skip without batch, or with a batch of 1, is
/// added to each element of the batch. Inputs 2 to `bias` are lists for the last axis.
ValueId sum_with_skip(Call& c, std::size_t bias) {
  for (const std::int64_t axis : {-2, -1}) require_extent_of(c, 1, axis, 0, axis);
  for (std::size_t k = 2; k <= bias; ++k) require_extent_of(c, k, -1, 0, -1);
  const ValueId x = wide_in(c, 0), sum = plus(c, plus(c, x, wide_in(c, 1)), wide_in(c, bias));
  const ir::Type &in = c.type(x), &out = c.type(sum);
  if (in.has_rank() && out.has_rank() && in.is_static() && in.extents() == out.extents())
    return sum;
  return c.one("Reshape", {sum, c.one("Shape", {x})}, {{"allowzero", std::int64_t{1}}});
}

/// The results of a normalisation of input + skip + bias, whose normalised sum is `y`.
std::vector<ValueId> with_sum(Call& c, ValueId y, ValueId sum) {
  refuse_output(c, 1);
  refuse_output(c, 2);
  return {as_first(c, y), ValueId::none, ValueId::none, as_first(c, sum)};
}

std::vector<ValueId> skip_layer_normalization(Call& c) {
  const ValueId sum = sum_with_skip(c, 4);
  const ValueId y = c.one("LayerNormalization", {sum, wide_in(c, 2), wide_in(c, 3)}, last_axis(c));
  return with_sum(c, y, sum);
}

std::vector<ValueId> skip_simplified_layer_normalization(Call& c) {
  const ValueId sum = sum_with_skip(c, 3);
  return with_sum(c, c.one("RMSNormalization", {sum, wide_in(c, 2)}, last_axis(c)), sum);
}

std::vector<ValueId> simplified_layer_normalization(Call& c) {
  refuse_output(c, 1);
  return {c.one("RMSNormalization", c.inputs, c.attributes), ValueId::none};
}

/// The positions of the ids i32[batch, length]: 0, 1, ... in each row.
ValueId own_positions(Call& c, ValueId ids) {
  return unsqueezed(c, counted(c, as_scalar(c, extent(c, ids, 1))), {0});
}

/// The number of ones in each row of the mask; 0 without a mask.
ValueId mask_index(Call& c, ValueId ids, ValueId mask) {
  if (mask == ValueId::none)
    return c.one("ConstantOfShape", {extent(c, ids, 0)},
                 {{"value", Tensor::from<std::int32_t>({1}, {0})}});
  const ValueId ones = c.one("Equal", {mask, c.constant(Tensor::scalar<std::int32_t>(1))});
  return c.one("ReduceSum", {cast(c, ones, DType::i32), c.integers({1})},
               {{"keepdims", std::int64_t{0}}});
}

std::vector<ValueId> embed_layer_normalization(Call& c) {
  const ValueId ids = c.in(0), segment_table = wide_in(c, 4);
  require(c.has(1) == c.has(4),
          "one of segment_ids and segment_embedding is given; expected both "
          "or none");
  for (const std::int64_t axis : {0, 1}) require_extent_of(c, 1, axis, 0, axis);
  require_extent_of(c, 8, 1, 0, 1);
  const ValueId positions = c.has(8) ? c.in(8) : own_positions(c, ids);
  ValueId sum = plus(c, rows_at(c, wide_in(c, 2), ids, "input_ids"),
                     rows_at(c, wide_in(c, 3), positions, "the list of positions"));
  if (c.has(1)) sum = plus(c, sum, rows_at(c, segment_table, c.in(1), "segment_ids"));
  const ValueId y = c.one("LayerNormalization", {sum, wide_in(c, 5), wide_in(c, 6)}, last_axis(c));
  const DType t = dtype_of(c, c.in(2));
  std::vector<ValueId> results{cast(c, y, t)};
  results.push_back(output_named(c, 1) ? mask_index(c, ids, c.in(7)) : ValueId::none);
  results.push_back(output_named(c, 2) ? cast(c, sum, t) : ValueId::none);
  return results;
}

/// GroupNormalization of x, whose channels are last or on axis 1; then SiLU if `activation` is 1.
ValueId group_normalized(Call& c, ValueId x) {
  const bool last = flag(c, "channels_last");
  const std::int64_t activation = integer(c, "activation");
  if (activation != 0 && activation != 1) refuse_attribute(c, "activation");
  if (last) x = channels_to_front(c, x);
  ir::Attributes a = some_attributes(c, {"epsilon"});
  a.set("num_groups", c.attributes.i("groups"));
  ValueId y = c.one("GroupNormalization", {x, wide_in(c, 1), wide_in(c, 2)}, std::move(a));
  if (activation == 1) y = c.one("Swish", {y});
  return as_first(c, last ? channels_to_end(c, y) : y);
}

std::vector<ValueId> group_norm(Call& c) { return {group_normalized(c, wide_in(c, 0))}; }

/// Before the normalisation, skip and bias are added. A skip of rank 2 is one value for each
/// channel of each batch element.
std::vector<ValueId> skip_group_norm(Call& c) {
  const std::int64_t rank = known_rank(c, 0), skip_rank = known_rank(c, 3);
  ValueId skip = wide_in(c, 3), bias = wide_in(c, 4);
  const bool last = flag(c, "channels_last");
  ir::Ints between;
  for (std::int64_t a = 0; a < rank - 2; ++a) between.push_back(a + (last ? 1 : 2));
  if (skip_rank == 2 && rank > 2) skip = unsqueezed(c, skip, between);
  if (c.has(4) && !last) {
    for (std::int64_t& a : between) --a;
    bias = unsqueezed(c, bias, between);
  }
  const ValueId sum = plus(c, plus(c, wide_in(c, 0), skip), bias);
  return {group_normalized(c, sum), as_first(c, sum)};
}

}  // namespace

std::span<const Rule> microsoft_normalization_rules() {
  static constexpr Rule rules[] = {
      microsoft_rule("SkipLayerNormalization", skip_layer_normalization),
      microsoft_rule("SkipSimplifiedLayerNormalization", skip_simplified_layer_normalization),
      {"SimplifiedLayerNormalization", 1, newest, simplified_layer_normalization, "-"},
      microsoft_rule("EmbedLayerNormalization", embed_layer_normalization),
      microsoft_rule("GroupNorm", group_norm),
      microsoft_rule("SkipGroupNorm", skip_group_norm),
  };
  return rules;
}

}  // namespace rondel::onnx
