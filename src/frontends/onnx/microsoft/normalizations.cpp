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
  return in_shape_of(c, sum, x);
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

/// v, which is input k of an embedding or rows of it, as floats of at least 32 bits.
using AsFloats = ValueId (*)(const Call&, ValueId v, std::size_t k);

/// The normalised sums of rows of tables: inputs 2 to 6 are three tables, gamma and beta.
/// `position_input`: the input with the positions; 0: there is none.
std::vector<ValueId> embedded(Call& c, AsFloats floats, std::size_t position_input, DType t) {
  require(c.has(1) == c.has(4),
          "one of segment_ids and segment_embedding is given; expected both "
          "or none");
  for (const std::size_t k : {0U, 1U, 2U, 3U, 4U, 7U}) require_rank(c, k, 2);
  for (const std::size_t k : {5U, 6U}) require_rank(c, k, 1);
  for (const std::size_t k : {1U, 7U})
    for (const std::int64_t axis : {0, 1}) require_extent_of(c, k, axis, 0, axis);
  for (const std::size_t k : {3U, 4U}) require_extent_of(c, k, 1, 2, 1);
  for (const std::size_t k : {5U, 6U}) require_extent_of(c, k, 0, 2, 1);
  const auto rows = [&](std::size_t k, ValueId ids, std::string_view name) {
    return floats(c, rows_at(c, c.in(k), ids, name), k);
  };
  const ValueId ids = c.in(0), words = rows(2, ids, "input_ids");
  ValueId sum = ValueId::none;
  if (position_input != 0 && c.has(position_input)) {
    require_rank(c, position_input, 2);
    require_extent_of(c, position_input, 1, 0, 1);
    sum = in_shape_of(c, plus(c, words, rows(3, c.in(position_input), "the list of positions")),
                      words);
  } else sum = plus(c, words, rows(3, own_positions(c, ids), "the list of positions"));
  if (c.has(1)) sum = plus(c, sum, rows(4, c.in(1), "segment_ids"));
  const ValueId y = c.one("LayerNormalization", {sum, floats(c, c.in(5), 5), floats(c, c.in(6), 6)},
                          last_axis(c));
  std::vector<ValueId> results{cast(c, y, t)};
  results.push_back(output_named(c, 1) ? mask_index(c, ids, c.in(7)) : ValueId::none);
  results.push_back(output_named(c, 2) ? cast(c, sum, t) : ValueId::none);
  return results;
}

std::vector<ValueId> embed_layer_normalization(Call& c) {
  const AsFloats widened = [](const Call& call, ValueId v, std::size_t) { return wide(call, v); };
  return embedded(c, widened, 8, dtype_of(c, c.in(2)));
}

/// Tables, gamma and beta are in bytes; after the mask, their scales and then their zero points
/// follow.
std::vector<ValueId> q_embed_layer_normalization(Call& c) {
  const AsFloats dequantizes = [](const Call& call, ValueId v, std::size_t k) {
    return dequantized(call, v, k + 6, k + 11);
  };
  return embedded(c, dequantizes, 0, DType::f32);
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
      microsoft_rule("QEmbedLayerNormalization", q_embed_layer_normalization),
      microsoft_rule("GroupNorm", group_norm),
      microsoft_rule("SkipGroupNorm", skip_group_norm),
  };
  return rules;
}

}  // namespace rondel::onnx
