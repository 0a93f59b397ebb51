// Attention whose heads share keys and values in groups, and that keeps these in a cache.
#include "frontends/onnx/microsoft/attention.h"

namespace rondel::onnx {
namespace {

/// The inputs by number.
enum Input : std::size_t {
  query,
  key,
  value,
  past_key,
  past_value,
  last_positions,
  total_length,
  cosines,
  sines,
  positions,
  bias,
  sinks,
  key_scale,
  value_scale,
  query_weight,
  key_weight
};

/// The query heads are in groups; each group shares a key and a value.
struct GroupedHeads {
  std::int64_t all, groups;
};

/// Where the queries are in the sequences, in i64: batch element b has `lengths[b]` keys, of which
/// `past[b]` were there before. Query i has position past[b] + i.
struct Timeline {
  ValueId lengths, past;  ///< [batch]
  ValueId queries;        ///< the positions of the queries, [batch, length]
  ValueId total, first;  ///< [1]: the length of the longest sequence; whether this is the first run
};

void refuse_unsupported(const Call& c) {
  for (const std::size_t k : {key_scale, value_scale}) refuse_input(c, k);
  refuse_output(c, 3);
  refuse_unless(c, "k_quant_type", std::string("NONE"));
  refuse_unless(c, "v_quant_type", std::string("NONE"));
  for (const char* name : {"kv_cache_bit_width", "sliding_window_cache", "qk_output"})
    refuse_unless(c, name, std::int64_t{0});
  for (const std::size_t k : {past_key, past_value})
    if (c.has(k) && !is_float(dtype_of(c, c.in(k))))
      unsupported("input {} ('{}') is {}; a cache of integers is not supported", k,
                  c.schema.inputs()[k].GetName(), ir::to_text(c.type(c.in(k))));
}

/// The ranks of the inputs, and the extents that they share. Only the bias is broadcast.
void check_grouped_inputs(Call& c) {
  for (const std::size_t k : {query, key, value}) require_rank(c, k, 3);
  for (const std::size_t k : {past_key, past_value, bias}) require_rank(c, k, 4);
  for (const std::size_t k : {cosines, sines, positions}) require_rank(c, k, 2);
  require(c.has(key) == c.has(value), "one of key and value is given; expected both or none");
  require(c.has(past_key) == c.has(past_value),
          "one of past_key and past_value is given; expected both or none");
  for (const std::int64_t axis : {0, 1}) {
    for (const std::size_t k : {key, value, positions}) require_extent_of(c, k, axis, query, axis);
    require_extent_of(c, sines, axis, cosines, axis);
  }
  require_extent_of(c, value, 2, key, 2);
  for (const std::size_t k : {past_key, past_value}) require_extent_of(c, k, 0, query, 0);
  if (c.has(past_key))
    c.inputs[past_value] = with_length_of(c, c.in(past_value), 2, c.in(past_key), 2,
                                          {"past_value", "past_key"});
  require_extent_of(c, bias, 2, query, 1);
  if (!c.has(past_key)) require_extent_of(c, bias, 3, query, 1);
  for (const std::size_t k : {sinks, query_weight, key_weight}) require_rank(c, k, 1);
}

GroupedHeads grouped_heads(const Call& c) {
  const GroupedHeads h{count(c, "num_heads"), count(c, "kv_num_heads")};
  require_groups(h.all, h.groups);
  return h;
}

/// Queries, keys and values as [batch, heads, length, size], from three inputs or one.
std::vector<ValueId> projections(Call& c, const GroupedHeads& h) {
  if (c.has(key)) {
    const ValueId q = heads_apart(c, wide_in(c, query), h.all);
    const ValueId k = heads_apart(c, wide_in(c, key), h.groups);
    return {q, with_extent_of(c, k, 3, q, 3, {"a head of key", "a head of query"}),
            heads_apart(c, wide_in(c, value), h.groups)};
  }
  const ValueId all = heads_apart(c, wide_in(c, query), h.all + 2 * h.groups);
  return c.add("Split", {all, c.integers({h.all, h.groups, h.groups})}, {{"axis", std::int64_t{1}}},
               3);
}

/// Input k, integers, as i64 of that shape.
ValueId integers_in(const Call& c, std::size_t k, const ir::Ints& shape) {
  return reshaped(c, cast(c, c.in(k), DType::i64), shape);
}

/// The first run of a sequence is as long as the whole; a later one follows what is in the cache.
Timeline timeline(Call& c, ValueId q) {
  Timeline t;
  const ValueId length = extent(c, q, 2);
  const ValueId held = c.has(past_key) ? extent(c, c.in(past_key), 2) : c.integers({0});
  const ValueId past = bounded(
      c, minus(c, integers_in(c, total_length, {1}), length), as_scalar(c, held),
      "total_sequence_length less the number of queries is {}; expected 0 to {}, the length of the "
      "cache",
      0);
  t.total = plus(c, past, length);
  const ValueId last = with_extent_of(c, integers_in(c, last_positions, {-1}), 0, q, 0,
                                      {"seqlens_k", "query"});
  t.lengths = bounded(c, plus(c, last, c.integer(1)), as_scalar(c, c.one("Max", {t.total, held})),
                      "a sequence has {} keys, one more than seqlens_k says; expected 1 to {}", 1);
  t.first = c.one("Equal", {length, t.total});
  t.past = c.one("Where", {t.first, c.integer(0), minus(c, t.lengths, length)});
  t.queries = plus(c, unsqueezed(c, t.past, {1}), counted(c, as_scalar(c, length)));
  return t;
}

/// The positions for the rotary embedding. In the first run only the first one that is given
/// counts, and the others follow it.
ValueId rotary_positions_of(Call& c, const Timeline& t) {
  if (!c.has(positions)) return t.queries;
  const ValueId first = sliced(c, reshaped(c, c.in(positions), {-1}), c.integers({0}),
                               c.integers({1}), 0);
  return c.one("Where", {t.first, plus(c, t.queries, first), c.in(positions)});
}

/// x, of four axes, with zeros after it along the axis, up to `length`, i64[1].
ValueId lengthened(Call& c, ValueId x, ValueId length, std::int64_t axis) {
  std::vector<ValueId> shape;
  for (std::int64_t a = 0; a < 4; ++a) shape.push_back(extent(c, x, a));
  shape[static_cast<std::size_t>(axis)] = minus(c, length, shape[static_cast<std::size_t>(axis)]);
  const ValueId zeros = c.one("ConstantOfShape", {joined(c, shape, 0)},
                              {{"value", Tensor::zeros(dtype_of(c, x), {1})}});
  return joined(c, {x, zeros}, axis);
}

/// The keys or values of the past with the new ones stored after them: [batch, groups, length,
/// size], with zeros after the sequences. The length is that of the keys' cache, or the total.
ValueId cached(Call& c, std::size_t past, ValueId fresh, const Timeline& t) {
  if (!c.has(past)) return fresh;
  ValueId cache = wide_in(c, past);
  for (const std::int64_t axis : {1, 3})
    cache = with_extent_of(c, cache, axis, fresh, axis,
                           {c.schema.inputs()[past].GetName(), "what is added to it"});
  const ValueId length = c.one("Max", {t.total, extent(c, c.in(past_key), 2)});
  const ValueId at = counted(c, as_scalar(c, extent(c, cache, 2)));
  const ValueId held = c.one("Less", {at, unsqueezed(c, t.past, {1})});
  const ValueId kept = c.one("Where",
                             {unsqueezed(c, held, {1, 3}), cache, c.number(dtype_of(c, cache), 0)});
  const ValueId longer = lengthened(c, kept, length, 2);
  return c.one("TensorScatter", {longer, fresh, t.past}, {{"axis", std::int64_t{2}}});
}

/// The scores with the bias [batch or 1, heads or 1, length, total], which is 0 for the keys after
/// the total length.
ValueId plus_grouped_bias(Call& c, const Timeline& t, ValueId scores) {
  if (!c.has(bias)) return scores;
  const ValueId given = with_length(c, wide_in(c, bias), 3, as_scalar(c, t.total),
                                    {"attention_bias", "total_sequence_length"});
  ValueId sum = plus(c, scores, lengthened(c, given, extent(c, scores, 3), 3));
  for (const std::int64_t axis : {0, 1})
    sum = with_extent_of(c, sum, axis, scores, axis,
                         {"the scores with attention_bias", "the scores"});
  return sum;
}

/// Whether a query may attend to a key, [batch, length, keys].
ValueId allowed(Call& c, const Timeline& t, ValueId keys) {
  const ValueId at = counted(c, as_scalar(c, extent(c, keys, 2)));
  const ValueId rows = unsqueezed(c, t.queries, {2});
  const bool causal = flag(c, "causal");
  ValueId may = causal ? c.one("LessOrEqual", {at, rows})
                       : c.one("Less", {at, unsqueezed(c, t.lengths, {1, 2})});
  const std::int64_t window = integer(c, "local_window_size");
  if (window == -1) return may;
  if (!causal || window < 1) refuse_attribute(c, "local_window_size");
  const ValueId first = minus(c, rows, c.integer(window));
  return c.one("And", {may, c.one("Greater", {at, first})});
}

/// What the softmax also counts, for each head, [batch, heads, length, 1]: head_sink, or 0 for a
/// smooth softmax. `none` if there is no such thing.
ValueId sink_scores(Call& c, const GroupedHeads& h, ValueId scores) {
  ValueId each = wide_in(c, sinks);
  if (each != ValueId::none) each = reshaped(c, each, {h.all, 1, 1});
  else if (integer(c, "smooth_softmax") == 1) each = c.number(dtype_of(c, scores), 0);
  if (each == ValueId::none) return each;
  const ValueId shape = joined(
      c, {c.one("Shape", {scores}, {{"end", std::int64_t{3}}}), c.integers({1})}, 0);
  return c.one("Expand", {each, shape});
}

/// softmax(scores) @ v; a sink takes its part of the softmax, and gives nothing. Without a bias,
/// each query attends to a key.
ValueId attended(Call& c, const GroupedHeads& h, ValueId scores, ValueId v) {
  const ValueId sink = sink_scores(c, h, scores);
  if (sink != ValueId::none) scores = joined(c, {scores, sink}, 3);
  ValueId weights = softmax(c, scores, c.has(bias));
  if (sink != ValueId::none) weights = sliced(c, weights, c.integers({0}), c.integers({-1}), 3);
  return in_heads(c, c.one("MatMul", {in_groups(c, weights, v), v}), weights);
}

std::vector<ValueId> group_query_attention(Call& c) {
  refuse_unsupported(c);
  check_grouped_inputs(c);
  const GroupedHeads h = grouped_heads(c);
  std::vector<ValueId> p = projections(c, h);
  const auto normalized = [&](ValueId x, std::size_t weight) {
    if (!c.has(weight)) return x;
    const ValueId scale = with_extent_of(c, wide_in(c, weight), 0, x, 3,
                                         {c.schema.inputs()[weight].GetName(), "a head"});
    return c.one("RMSNormalization", {x, scale},
                 {{"axis", std::int64_t{-1}}, {"epsilon", real(c, "qk_norm_epsilon")}});
  };
  p[0] = normalized(p[0], query_weight);
  p[1] = normalized(p[1], key_weight);
  const Timeline t = timeline(c, p[0]);
  if (flag(c, "do_rotary")) {
    require(c.has(cosines) && c.has(sines),
            "do_rotary is 1, but cos_cache or sin_cache is missing");
    const ValueId at = rotary_positions_of(c, t);
    const auto angles = [&](std::size_t k) {
      return unsqueezed(c, rows_at(c, wide_in(c, k), at, "the list of positions"), {1});
    };
    const ValueId cos = angles(cosines), sin = angles(sines);
    for (ValueId* x : {&p[0], &p[1]}) *x = rotated(c, *x, cos, sin, flag(c, "rotary_interleaved"));
  }
  const ValueId keys = cached(c, past_key, p[1], t), values = cached(c, past_value, p[2], t);

  ValueId scores = in_heads(c, attention_scores(c, in_groups(c, p[0], keys), keys), p[0]);
  const double cap = real(c, "softcap");
  if (cap > 0) scores = scaled(c, c.one("Tanh", {scaled(c, scores, 1 / cap)}), cap);
  scores = plus_grouped_bias(c, t, scores);
  const ValueId may = unsqueezed(c, allowed(c, t, keys), {1});
  scores = c.one("Where", {may, scores, minus_infinity(c, dtype_of(c, scores))});
  const ValueId y = attended(c, h, scores, values);
  const ValueId width = times(c, extent(c, values, 3), c.integer(h.all));
  const ValueId shape = joined(c, {c.integers({0, 0}), width}, 0);
  const ValueId out = c.one("Reshape", {transposed(c, y, {0, 2, 1, 3}), shape});
  return {as_first(c, out), as_first(c, keys), as_first(c, values), ValueId::none};
}

}  // namespace

std::span<const Rule> microsoft_group_query_attention_rules() {
  static constexpr Rule rules[] = {microsoft_rule("GroupQueryAttention", group_query_attention)};
  return rules;
}

}  // namespace rondel::onnx
