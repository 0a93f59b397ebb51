// Attention with a state instead of a cache, the convolution with a state before it, and rotary
// embeddings. What the bodies that ONNX has for them would broadcast or reshape is checked here.
#include "formats/onnx/protos.h"
#include "frontends/onnx/microsoft/attention.h"
#include "frontends/onnx/rules/lengths.h"

#include <algorithm>

namespace rondel::onnx {
namespace {

/// The body broadcasts the cosines and sines, and counts negative positions from the end.
std::vector<ValueId> checked_rotary_embedding(Call& c) {
  const auto rank = c.rank(c.in(0));
  if (!rank) return by_own_body(c);
  const std::int64_t length = *rank == 4 ? 2 : 1;
  const std::size_t placed = c.has(3) ? 3 : 1;
  require_extent_of(c, placed, 0, 0, 0);
  require_extent_of(c, placed, 1, 0, length);
  const std::int64_t turned = c.attributes.i("rotary_embedding_dim", 0);
  const std::int64_t heads = std::max<std::int64_t>(c.attributes.i("num_heads", 0), 1);
  for (std::int64_t axis = 0; axis < (c.has(3) ? 2 : 3); ++axis)
    require_extent_of(c, 2, axis, 1, axis);
  const Length whole = turned > 0 ? Length{.plus = turned} : Length{c.in(0), -1};
  require_lengths(c, {c.in(1), -1, *rank == 4 || turned > 0 ? 2 : 2 * heads}, whole, false,
                  "cos_cache does not have a column for each pair of elements of a head");
  if (c.has(3))
    c.inputs[3] = bounded(c, c.in(3), computed(c, {c.in(1), 0, 1, -1}),
                          "position_ids has {}; expected 0 to {}", 0);
  return by_own_body(c);
}

/// One column of zeros more, so that the convolution takes a sequence of length 0.
void add_column(pb::FunctionProto& body) {
  for (pb::NodeProto& n : *body.mutable_node())
    if (n.op_type() == "Conv") *n.add_attribute() = attribute_proto("pads", ir::Ints{0, 1});
}

/// The body would take the last columns of a longer state.
std::vector<ValueId> checked_causal_convolution(Call& c) {
  if (c.has(3))
    require_lengths(c, {c.in(3), -1, 1, 1}, {c.in(1), -1}, false,
                    "past_state does not have one column less than the kernel");
  if (c.rank(c.in(0)) != 3 || !may_be_zero(c, {c.in(0), 2})) return by_own_body(c);
  std::vector<ValueId> results = by_own_body(c, add_column);
  results[0] = sliced(c, results[0], c.integers({0}), extent(c, c.in(0), 2), 2);
  return results;
}

/// The body reshapes what has enough elements, and broadcasts the state.
std::vector<ValueId> checked_linear_attention(Call& c) {
  const std::int64_t heads = count(c, "q_num_heads"), shared = count(c, "kv_num_heads");
  require_groups(heads, shared);
  const std::string rule = c.attributes.s("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta",
             delta = rule == "delta" || rule == "gated_delta";
  require(gated || delta || rule == "linear",
          "attribute 'update_rule' is '{}'; expected linear, gated, delta or gated_delta", rule);
  require(!gated || c.has(4), "input 4 ('decay') is left out; update rule '{}' needs it", rule);
  require(!delta || c.has(5), "input 5 ('beta') is left out; update rule '{}' needs it", rule);

  const ValueId q = c.in(0), v = c.in(2), past = c.in(3);
  for (const std::size_t k : {1U, 2U, 4U, 5U})
    for (std::int64_t axis = 0; axis < 2; ++axis) require_extent_of(c, k, axis, 0, axis);
  require_lengths(c, {c.in(1), -1, heads}, {q, -1, shared}, false,
                  "the heads of key do not have the size of the heads of query");
  if (c.has(3)) {
    require_extent_of(c, 3, 0, 0, 0);
    require_lengths(c, {past, 1}, {.plus = shared}, false,
                    "past_state does not have kv_num_heads heads");
    require_lengths(c, {past, 2, heads}, {q, -1}, false,
                    "past_state does not have a row for each element of a head of query");
    require_lengths(c, {past, 3, shared}, {v, -1}, false,
                    "past_state does not have a column for each element of a head of value");
  }
  if (gated)
    require_either(c, {c.in(4), -1, heads}, {.plus = heads * shared}, {q, -1, shared},
                   "decay has neither a number for each head nor one for each element of a key");
  if (delta)
    require_either(c, {c.in(5), -1}, {.plus = 1}, {.plus = shared},
                   "beta has neither one number for each token nor one for each head");

  std::vector<ValueId> results = by_own_body(c);
  if (!may_be_zero(c, {q, 1})) return results;
  // The body's loop stacks nothing for 0 tokens, so the width is not known from it.
  const ir::Integer width = known(c, {v, -1});
  const ValueId columns = width.known()
                              ? c.integers({*width.number / shared * heads})
                              : times(c, c.one("Div", {extent(c, v, 2), c.integers({shared})}),
                                      c.integers({heads}));
  results[0] = c.one("Reshape",
                     {results[0], joined(c, {extent(c, q, 0), extent(c, q, 1), columns}, 0)},
                     {{"allowzero", std::int64_t{1}}});
  return results;
}

}  // namespace

std::span<const Rule> linear_attention_rules() {
  static constexpr Rule rules[] = {
      {"RotaryEmbedding", 23, newest, checked_rotary_embedding},
      {"CausalConvWithState", 27, newest, checked_causal_convolution},
      {"LinearAttention", 27, newest, checked_linear_attention},
  };
  return rules;
}

}  // namespace rondel::onnx
