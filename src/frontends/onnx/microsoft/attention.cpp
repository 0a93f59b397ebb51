// Attention with heads, and rotary embeddings.
#include "frontends/onnx/microsoft/attention.h"

#include <limits>

namespace rondel::onnx {
namespace {

constexpr double least_float = std::numeric_limits<float>::lowest();

/// The value that the masked scores get, which is added to them.
double mask_filter_value(const Call& c) { return c.attributes.f("mask_filter_value", -10000); }

/// `value` where the condition holds, else 0.
ValueId filled(const Call& c, ValueId condition, double value, DType t) {
  return c.one("Where", {condition, c.number(t, value), c.number(t, 0)});
}

/// The keys at or after their end, or before their start: `mask` is ends[batch], and for two lists
/// starts[batch] may follow. Of 3 * batch + 2 numbers, which also tell where sequences begin in a
/// packed batch, the first are the ends.
ValueId outside_ends(const Call& c, ValueId mask, ValueId batch, ValueId total, int lists) {
  const ValueId least = c.integers({1});  // also of an empty batch
  const ValueId length = extent(c, mask, 0);
  const ValueId packed = c.one(
      "Equal", {length, plus(c, times(c, batch, c.integers({3})), c.integers({2}))});
  const ValueId used = c.one("Where", {packed, batch, length});
  const ValueId each = c.one("Div", {used, c.one("Max", {batch, least})});
  const ValueId count = bounded(
      c, c.one("Max", {each, least}), c.integer(lists),
      "the mask has {} numbers for each batch element; expected at most {}");
  const ValueId numbers = sliced(c, mask, c.integers({0}), used, 0);
  const ValueId all = c.one("Reshape", {numbers, joined(c, {count, batch}, 0)},
                            {{"allowzero", std::int64_t{1}}});
  const ValueId zeros = c.one("ConstantOfShape", {joined(c, {c.integers({1}), batch}, 0)},
                              {{"value", Tensor::from<std::int32_t>({1}, {0})}});
  const ValueId rows = joined(c, {all, zeros}, 0);
  const auto row = [&](std::int64_t r) {
    const ValueId one = sliced(c, rows, c.integers({r}), c.integers({r + 1}), 0);
    return transposed(c, one, {1, 0});
  };
  const ValueId at = cast(c, unsqueezed(c, counted(c, as_scalar(c, total)), {0}), DType::i32);
  return c.one("Or", {c.one("GreaterOrEqual", {at, row(0)}), c.one("Less", {at, row(1)})});
}

/// Whether a key comes after a query, [length, total]. Query i has position `past` + i.
ValueId later_keys(const Call& c, ValueId q, ValueId k, ValueId past) {
  const ValueId queries = plus(c, counted(c, as_scalar(c, extent(c, q, 2))), past);
  const ValueId keys = counted(c, as_scalar(c, extent(c, k, 2)));
  return c.one("Greater", {keys, unsqueezed(c, queries, {1})});
}

/// What is added to the scores.
struct Masks {
  ValueId mask;  ///< of rank 1: ends (and starts) of the keys; [batch, total] or [batch, length,
                 ///< total]: 0 where a key is masked
  int lists;     ///< how many lists of numbers a mask of rank 1 may have
  ValueId bias, past;  ///< past: i64[1], the position of the first query
  std::string name;    ///< of the mask, for errors
};

/// A mask of rank 2 or 3, which is not broadcast to the scores.
ValueId fitting_mask(const Call& c, const Masks& m, std::int64_t rank, ValueId q, ValueId k) {
  ValueId mask = with_extent_of(c, m.mask, 0, q, 0, {m.name, "the queries"});
  if (rank == 3) mask = with_extent_of(c, mask, 1, q, 2, {m.name, "the queries"});
  return with_length_of(c, mask, rank - 1, k, 2, {m.name, "the keys"});
}

/// The mask as numbers, which broadcast to the scores.
ValueId padding_mask(const Call& c, const Masks& m, ValueId q, ValueId k) {
  const DType t = dtype_of(c, q);
  const auto rank = c.rank(m.mask);
  if (!rank) unsupported("a mask of unknown rank");
  if (*rank == 1) {
    const ValueId masked = outside_ends(c, m.mask, extent(c, q, 0), extent(c, k, 2), m.lists);
    return filled(c, unsqueezed(c, masked, {1, 2}), mask_filter_value(c), t);
  }
  if (*rank != 2 && *rank != 3)
    unsupported("a mask of rank {} ({}) is not supported; expected 1, 2 or 3", *rank,
                ir::to_text(c.type(m.mask)));
  const ValueId zero = c.constant(Tensor::scalar<std::int32_t>(0));
  const ValueId masked = c.one("LessOrEqual", {fitting_mask(c, m, *rank, q, k), zero});
  return filled(c, unsqueezed(c, masked, *rank == 2 ? ir::Ints{1, 2} : ir::Ints{1}),
                mask_filter_value(c), t);
}

/// The mask, in which later keys get the least float instead, because the sum of both may be -inf:
/// then a row that has only masked keys would no longer attend to all alike. `none`: no mask.
ValueId additive_mask(const Call& c, const Masks& m, ValueId q, ValueId k) {
  ValueId mask = m.mask == ValueId::none ? m.mask : padding_mask(c, m, q, k);
  if (!flag(c, "unidirectional")) return mask;
  const DType t = dtype_of(c, q);
  if (mask == ValueId::none) mask = c.number(t, 0);
  return c.one("Where", {later_keys(c, q, k, m.past), c.number(t, least_float), mask});
}

/// scores + bias [batch or 1, heads or 1, length, total], or the scores if there is no bias.
ValueId plus_bias(const Call& c, ValueId scores, ValueId bias) {
  if (bias == ValueId::none) return scores;
  for (const std::int64_t axis : {2, 3})
    bias = with_length_of(c, bias, axis, scores, axis, {"the bias of the scores", "the scores"});
  ValueId sum = plus(c, scores, bias);
  for (const std::int64_t axis : {0, 1})
    sum = with_extent_of(c, sum, axis, scores, axis, {"the scores with their bias", "the scores"});
  return sum;
}

ValueId masked_scores(const Call& c, ValueId q, ValueId k, const Masks& m) {
  return plus(c, plus_bias(c, attention_scores(c, q, k), m.bias), additive_mask(c, m, q, k));
}

/// softmax(scores) @ v.
ValueId attended(const Call& c, ValueId scores, ValueId v) {
  return c.one("MatMul", {c.one("Softmax", {scores}, {{"axis", std::int64_t{-1}}}), v});
}

/// Keys and values of the past, from [2, batch, heads, length, size].
ValueId past_part(const Call& c, ValueId past, std::int64_t which) {
  return c.one("Gather", {past, c.integer(which)}, {{"axis", std::int64_t{0}}});
}

std::vector<ValueId> attention(Call& c) {
  refuse_unless(c, "do_rotary", std::int64_t{0});
  refuse_unless(c, "past_present_share_buffer", std::int64_t{0});
  refuse_input(c, 6);
  ProjectedAttention a;
  require_extent_of(c, 2, -1, 1, -1);
  a.projected = plus(c, c.one("MatMul", {wide_in(c, 0), wide_in(c, 1)}), wide_in(c, 2));
  a.sizes = c.attributes.ints("qkv_hidden_sizes");
  require(a.sizes.empty() || a.sizes.size() == 3,
          "attribute 'qkv_hidden_sizes' has {} elements; expected 3", a.sizes.size());
  a.mask = 3;
  a.past = 4;
  a.bias = wide_in(c, 5);
  return projected_attention(c, a, dtype_of(c, c.in(0)));
}

/// Queries, keys and values of MultiHeadAttention, each [batch, heads, length, size].
struct Heads {
  ValueId q, k, v;
};

/// One of the tensors that are packed along an axis of extent `parts`: [batch, length, heads,
/// parts, size].
ValueId unpacked_heads(const Call& c, ValueId x, std::int64_t which) {
  const ValueId one = c.one("Gather", {x, c.integer(which)}, {{"axis", std::int64_t{3}}});
  return transposed(c, one, {0, 2, 1, 3});
}

/// The part of the bias for the queries (0), keys (1) or values (2), as [heads, 1, size]. `size` is
/// the number of elements of all heads of a query, i64[1].
ValueId bias_of_heads(const Call& c, ValueId size, std::int64_t which, std::int64_t heads) {
  const ValueId start = c.one("Mul", {size, c.integer(which)});
  const ValueId end = which == 2 ? c.integers({std::numeric_limits<std::int64_t>::max()})
                                 : c.one("Add", {start, size});
  return reshaped(c, sliced(c, wide_in(c, 3), start, end, 0), {heads, 1, -1});
}

Heads heads_of(Call& c, std::int64_t heads) {
  const ValueId query = wide_in(c, 0), key = wide_in(c, 1), value = wide_in(c, 2);
  const std::int64_t rank = known_rank(c, 0);
  if (!c.has(1)) {
    if (rank != 5 || c.has(2))
      unsupported(
          "a query of rank {} without a key is not supported; expected queries, keys and "
          "values packed in rank 5",
          rank);
    return {unpacked_heads(c, query, 0), unpacked_heads(c, query, 1), unpacked_heads(c, query, 2)};
  }
  require(rank == 3, "the query has rank {}; expected 3 beside a key", rank);
  const ValueId q = heads_apart(c, query, heads);
  const std::int64_t key_rank = known_rank(c, 1);
  if (key_rank == 5) {
    require(!c.has(2), "a value is given beside a key of rank 5, which holds the values, too");
    return {q, unpacked_heads(c, key, 0), unpacked_heads(c, key, 1)};
  }
  require(c.has(2), "the value is missing");
  if (key_rank == 4) return {q, key, value};
  require(key_rank == 3, "the key has rank {}; expected 3, 4 or 5", key_rank);
  return {q, heads_apart(c, key, heads), heads_apart(c, value, heads)};
}

/// Adds the bias, input 3. Keys and values that have heads already come from an earlier node, which
/// added theirs.
void add_bias(Call& c, Heads& h, std::int64_t heads) {
  const std::int64_t key_rank = c.has(1) ? known_rank(c, 1) : 0;
  require(key_rank != 5, "a bias is given beside keys and values in one tensor");
  const ValueId size = c.one("Mul", {extent(c, h.q, 3), c.integer(heads)});
  h.q = plus(c, h.q, bias_of_heads(c, size, 0, heads));
  if (key_rank == 4) return;
  h.k = plus(c, h.k, bias_of_heads(c, size, 1, heads));
  h.v = plus(c, h.v, bias_of_heads(c, size, 2, heads));
}

std::vector<ValueId> multi_head_attention(Call& c) {
  refuse_input(c, 8);
  refuse_input(c, 9);
  const std::int64_t heads = count(c, "num_heads");
  Heads h = heads_of(c, heads);
  for (const std::int64_t axis : {0, 1}) {
    h.k = with_extent_of(c, h.k, axis, h.q, axis, {"key", "query"});
    h.v = with_extent_of(c, h.v, axis, h.q, axis, {"value", "query"});
  }
  if (c.has(3)) add_bias(c, h, heads);
  ValueId past = c.integers({0});
  require(c.has(6) == c.has(7), "one of past_key and past_value is given; expected both or none");
  if (c.has(6)) {
    past = extent(c, c.in(6), 2);
    h.k = joined(c, {wide_in(c, 6), h.k}, 2);
    h.v = joined(c, {wide_in(c, 7), h.v}, 2);
  }
  const ValueId scores = masked_scores(c, h.q, h.k,
                                       {c.in(4), 1, wide_in(c, 5), past, "key_padding_mask"});
  return {as_first(c, heads_joined(c, attended(c, scores, h.v))), as_first(c, h.k),
          as_first(c, h.v), as_first(c, scores)};
}

/// The positions i64[batch, length] of a RotaryEmbedding, which gives them or only the first.
ValueId rotary_positions(Call& c, std::int64_t length_axis) {
  const std::int64_t rank = known_rank(c, 1);
  if (rank == 2) {
    require_extent_of(c, 1, 0, 0, 0);
    require_extent_of(c, 1, 1, 0, length_axis);
    return c.in(1);
  }
  require(rank == 1, "position_ids has rank {}; expected 1 or 2", rank);
  const ValueId at = counted(c, as_scalar(c, extent(c, c.in(0), length_axis)));
  return unsqueezed(c, plus(c, at, c.in(1)), {0});
}

/// Requires that heads of the size that `num_heads` tells have two elements for each column of the
/// cosines, as far as the extents are known.
void check_turned_heads(const Call& c, std::int64_t heads) {
  const ir::Type &x = c.type(c.in(0)), &cosines = c.type(c.in(2));
  if (!x.has_rank() || !cosines.has_rank() || cosines.rank() != 2) return;
  const ir::Extent &width = x.extent(2), &columns = cosines.extent(1);
  require(!width.known() || !columns.known() ||
              (width.value % heads == 0 && width.value / heads == 2 * columns.value),
          "{} elements are {} heads, and cos_cache has {} columns; expected half as many columns "
          "as a head has elements",
          width.value, heads, columns.value);
}

/// [batch, length, heads * size] as [batch, length, heads, size], where the whole head is turned,
/// so that the cosines, input 2, tell its size. `heads` is 0 if the node does not give it.
ValueId split_turned_heads(const Call& c, ValueId x, std::int64_t heads) {
  if (heads > 0) check_turned_heads(c, heads);
  const ValueId size = times(c, extent(c, c.in(2), 1), c.integer(2));
  const ValueId count = heads > 0 ? c.integers({heads}) : c.one("Div", {extent(c, x, 2), size});
  return c.one("Reshape", {x, joined(c, {c.integers({0, 0}), count, size}, 0)});
}

/// x is [batch, length, heads * size] or [batch, heads, length, size].
std::vector<ValueId> rotary_embedding(Call& c) {
  refuse_unless(c, "is_packed_batching", std::int64_t{0});
  refuse_unless(c, "scale", 1.0);
  const std::int64_t rank = known_rank(c, 0), heads = integer(c, "num_heads");
  require(rank == 3 || rank == 4, "the input has rank {}; expected 3 or 4", rank);
  require(integer(c, "rotary_embedding_dim") == 0 || heads > 0,
          "attribute 'num_heads' = {}; with rotary_embedding_dim it must be positive", heads);
  const bool partly = integer(c, "rotary_embedding_dim") != 0;
  const ValueId at = rotary_positions(c, rank == 3 ? 1 : 2), x = wide_in(c, 0);
  require_extent_of(c, 3, 1, 2, 1);
  const auto angles = [&](std::size_t k) {
    return unsqueezed(c, rows_at(c, wide_in(c, k), at, "position_ids"), {rank == 3 ? 2 : 1});
  };
  const ValueId cos = angles(2), sin = angles(3);
  const bool interleaved = flag(c, "interleaved");
  if (rank == 4) return {as_first(c, rotated(c, x, cos, sin, interleaved))};
  const ValueId y = rotated(c, partly ? split_heads(c, x, heads) : split_turned_heads(c, x, heads),
                            cos, sin, interleaved);
  return {as_first(c, c.one("Reshape", {y, c.one("Shape", {x})}))};
}

}  // namespace

ValueId split_heads(const Call& c, ValueId x, std::int64_t heads) {
  const ValueId size = c.one("Div", {extent(c, x, 2), c.integer(heads)});
  return c.one("Reshape", {x, joined(c, {c.integers({0, 0, heads}), size}, 0)});
}

ValueId heads_apart(const Call& c, ValueId x, std::int64_t heads) {
  return transposed(c, split_heads(c, x, heads), {0, 2, 1, 3});
}

ValueId heads_joined(const Call& c, ValueId x) {
  const ValueId width = times(c, extent(c, x, 1), extent(c, x, 3));
  const ValueId shape = joined(c, {c.integers({0, 0}), width}, 0);
  return c.one("Reshape", {transposed(c, x, {0, 2, 1, 3}), shape});
}

void require_groups(std::int64_t heads, std::int64_t shared) {
  require(heads % shared == 0, "{} heads of queries are no multiple of {} heads of keys and values",
          heads, shared);
}

ValueId in_groups(const Call& c, ValueId x, ValueId k) {
  const ir::Extent &heads = c.type(x).extent(1), &groups = c.type(k).extent(1);
  if (heads == groups) return x;
  const ValueId in_group = c.one("Div", {extent(c, x, 1), extent(c, k, 1)});
  const ValueId shape = joined(
      c, {extent(c, x, 0), extent(c, k, 1), times(c, extent(c, x, 2), in_group), extent(c, x, 3)},
      0);
  return c.one("Reshape", {x, shape}, {{"allowzero", std::int64_t{1}}});
}

ValueId in_heads(const Call& c, ValueId x, ValueId q) {
  if (c.type(x).extent(1) == c.type(q).extent(1)) return x;
  const ValueId shape = joined(
      c, {extent(c, x, 0), extent(c, q, 1), extent(c, q, 2), extent(c, x, 3)}, 0);
  return c.one("Reshape", {x, shape}, {{"allowzero", std::int64_t{1}}});
}

ValueId minus_infinity(const Call& c, DType t) {
  return c.number(t, -std::numeric_limits<double>::infinity());
}

ValueId softmax(const Call& c, ValueId scores, bool maybe_masked) {
  const ValueId y = c.one("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  if (!maybe_masked) return y;
  const DType t = dtype_of(c, scores);
  const ValueId greatest = c.one("ReduceMax", {scores, c.integers({-1})},
                                 {{"keepdims", std::int64_t{1}}});
  const ValueId masked = c.one("Equal", {greatest, minus_infinity(c, t)});
  return c.one("Where", {masked, c.number(t, 0), y});
}

ValueId attention_scores(const Call& c, ValueId q, ValueId k) {
  const ValueId products = c.one("MatMul", {q, matrix_transposed(c, k)});
  const double scale = real(c, "scale");
  if (scale != 0) return scaled(c, products, scale);
  const std::int64_t last = *c.rank(q) - 1;
  const ValueId size = cast(c, as_scalar(c, extent(c, q, last)), dtype_of(c, q));
  return c.one("Div", {products, c.one("Sqrt", {size})});
}

std::vector<ValueId> projected_attention(Call& c, const ProjectedAttention& a, DType t) {
  const std::int64_t heads = count(c, "num_heads");
  if (output_named(c, 1) && !a.sizes.empty() && a.sizes[1] != a.sizes[2])
    unsupported(
        "output 1 ('present') holds keys and values in one tensor; attribute 'qkv_hidden_sizes' "
        "has {} for keys and {} for values, expected equal sizes",
        a.sizes[1], a.sizes[2]);
  const auto parts = a.sizes.empty() ? equal_parts(c, a.projected, 3, -1)
                                     : c.add("Split", {a.projected, c.integers(a.sizes)},
                                             {{"axis", std::int64_t{-1}}}, 3);
  const ValueId q = heads_apart(c, parts[0], heads);
  ValueId k = heads_apart(c, parts[1], heads), v = heads_apart(c, parts[2], heads);
  ValueId past = c.integers({0});
  if (c.has(a.past)) {
    const ValueId before = with_length(c, wide_in(c, a.past), 0, c.integer(2),
                                       {"past", "keys and values"});
    past = extent(c, before, 3);
    k = joined(c, {past_part(c, before, 0), k}, 2);
    v = joined(c, {past_part(c, before, 1), v}, 2);
  }
  const ValueId scores = masked_scores(c, q, k, {c.in(a.mask), 2, a.bias, past, "mask_index"});
  std::vector<ValueId> results{cast(c, heads_joined(c, attended(c, scores, v)), t), ValueId::none};
  if (output_named(c, 1))
    results[1] = cast(c, joined(c, {unsqueezed(c, k, {0}), unsqueezed(c, v, {0})}, 0), t);
  return results;
}

ValueId rotated(const Call& c, ValueId x, ValueId cos, ValueId sin, bool interleaved) {
  const std::int64_t last = *c.rank(x) - 1;
  const ValueId half = extent(c, cos, last), turned = times(c, half, c.integer(2));
  const ValueId end = c.integers({std::numeric_limits<std::int64_t>::max()});
  const ValueId part = sliced(c, x, c.integers({0}), turned, last);
  const ValueId rest = sliced(c, x, turned, end, last);
  const ValueId as_they_are = c.integers(ir::Ints(static_cast<std::size_t>(last), 0));
  std::vector<ValueId> pair;
  if (interleaved) {
    const ValueId shape = joined(c, {as_they_are, half, c.integers({2})}, 0);
    const ValueId pairs = c.one("Reshape", {part, shape});
    for (const std::int64_t i : {0, 1})
      pair.push_back(c.one("Gather", {pairs, c.integer(i)}, {{"axis", last + 1}}));
  } else {
    pair = equal_parts(c, part, 2, last);
    pair[0] = with_extent_of(c, pair[0], last, cos, last,
                             {"half of the turned elements of a head", "the cosines"});
  }
  const ValueId a = minus(c, times(c, pair[0], cos), times(c, pair[1], sin));
  const ValueId b = plus(c, times(c, pair[1], cos), times(c, pair[0], sin));
  if (!interleaved) return joined(c, {a, b, rest}, last);
  const ValueId both = joined(c, {unsqueezed(c, a, {last + 1}), unsqueezed(c, b, {last + 1})},
                              last + 1);
  const ValueId shape = joined(c, {as_they_are, turned}, 0);
  return joined(c, {c.one("Reshape", {both, shape}), rest}, last);
}

std::span<const Rule> microsoft_attention_rules() {
  static constexpr Rule rules[] = {
      microsoft_rule("Attention", attention),
      microsoft_rule("MultiHeadAttention", multi_head_attention),
      microsoft_rule("RotaryEmbedding", rotary_embedding),
      microsoft_rule("LinearAttention", linear_attention),
      microsoft_rule("CausalConvWithState", causal_convolution),
  };
  return rules;
}

}  // namespace rondel::onnx
