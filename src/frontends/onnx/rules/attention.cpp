// Attention and FlexAttention.
#include "frontends/onnx/microsoft/attention.h"
#include "formats/onnx/types.h"
#include "frontends/onnx/rules/control.h"
#include "frontends/onnx/rules/lengths.h"

#include <limits>
#include <optional>

namespace rondel::onnx {
namespace {

/// The inputs of both by number; FlexAttention has the first three.
struct In {
  enum Number : std::size_t { query, key, value, mask, past_key, past_value, filled };
};

/// The dtype in which Softmax is computed, if the node says so.
std::optional<DType> softmax_precision(const Call& c) {
  if (c.attributes.find("softmax_precision") == nullptr) return std::nullopt;
  const std::int64_t number = c.attributes.i("softmax_precision");
  for (const DType t : {DType::f32, DType::f16, DType::f64, DType::bf16})
    if (number == data_type_of(t)) return t;
  fail("attribute 'softmax_precision' is {}; expected 1, 10, 11 or 16: f32, f16, f64 or bf16",
       number);
}

/// An attribute from `least` to `most`.
std::int64_t ranged(const Call& c, const char* attribute, std::int64_t otherwise,
                    std::int64_t least, std::int64_t most) {
  const std::int64_t value = c.attributes.i(attribute, otherwise);
  if (value < least || value > most)
    fail("attribute '{}' is {}; expected {}", attribute, value,
         most == std::numeric_limits<std::int64_t>::max() ? fmt::format("{} or more", least)
                                                          : fmt::format("{} to {}", least, most));
  return value;
}

/// Requires that the heads of Q are a multiple of the heads of K; both are on axis 1.
void require_shared_heads(const Call& c, ValueId q, ValueId k) {
  const Length heads{q, 1}, shared{k, 1};
  const ir::Integer all = known(c, heads), some = known(c, shared);
  if (all == some) return;
  if (all.known() && some.known()) {
    require(*some.number > 0, "K has no heads");
    return require_groups(*all.number, *some.number);
  }
  const ValueId rest = c.one("Mod", {computed(c, heads), computed(c, shared)});
  require_in_run(c, c.one("Equal", {rest, c.integer(0)}),
                 "the heads of Q are no multiple of the heads of K");
}

/// What both ops compute in: at least f32, and f64 if queries or values are.
DType wide_type(const Call& c) {
  const bool f64 = dtype_of(c, c.in(In::query)) == DType::f64 ||
                   dtype_of(c, c.in(In::value)) == DType::f64;
  return f64 ? DType::f64 : DType::f32;
}

/// The node's `scale`; without one, 1 / sqrt(size of a head).
ValueId scale_of(const Call& c, ValueId q) {
  const DType t = dtype_of(c, q);
  if (c.attributes.find("scale") != nullptr) return c.number(t, c.attributes.f("scale", 1));
  return c.one("Reciprocal", {c.one("Sqrt", {cast(c, computed(c, {q, -1}), t)})});
}

/// scale * q @ k^T, [batch, heads, length, keys]. The short operand is scaled.
ValueId products(const Call& c, ValueId q, ValueId k) {
  const ValueId rows = in_groups(c, times(c, q, scale_of(c, q)), k);
  return in_heads(c, c.one("MatMul", {rows, matrix_transposed(c, k)}), q);
}

/// weights @ v.
ValueId weighted(const Call& c, ValueId weights, ValueId v) {
  return in_heads(c, c.one("MatMul", {in_groups(c, weights, v), v}), weights);
}

/// Checks the attributes that tell numbers of heads. With 4 axes the shapes tell them.
void check_numbers_of_heads(const Call& c, std::int64_t rank) {
  constexpr const char* names[] = {"q_num_heads", "kv_num_heads"};
  for (std::size_t k = 0; k < std::size(names); ++k) {
    const bool given = c.attributes.i(names[k], 0) != 0;
    require(given || rank != 3, "Q has rank 3: attribute '{}' is missing", names[k]);
    if (!given) continue;
    const std::int64_t heads = count(c, names[k]);
    if (rank == 4)
      require_lengths(c, {c.in(k), 1}, {.plus = heads}, false,
                      fmt::format("attribute '{}' is not the number of heads of {}", names[k],
                                  c.schema.inputs()[k].GetName()));
  }
}

/// The ranks, and the extents that the inputs share: products would broadcast batches and heads.
void check_inputs(Call& c, std::int64_t rank) {
  for (const std::size_t k : {In::query, In::key, In::value}) require_rank(c, k, rank);
  for (const std::size_t k : {In::past_key, In::past_value}) require_rank(c, k, 4);
  for (const std::size_t k : {In::key, In::value, In::filled})
    require_extent_of(c, k, 0, In::query, 0);
  check_numbers_of_heads(c, rank);
  const std::int64_t length = rank - 2;
  c.inputs[In::value] = with_length_of(c, c.in(In::value), length, c.in(In::key), length,
                                       {"V", "K"});
  if (rank == 3) {
    const std::int64_t heads = count(c, "q_num_heads"), shared = count(c, "kv_num_heads");
    require_groups(heads, shared);
    require_lengths(c, {c.in(In::key), -1, heads}, {c.in(In::query), -1, shared}, false,
                    "the heads of K do not have the size of the heads of Q");
  } else {
    require_extent_of(c, In::key, 3, In::query, 3);
    require_extent_of(c, In::value, 1, In::key, 1);
    require_shared_heads(c, c.in(In::query), c.in(In::key));
  }
  require(c.has(In::past_key) == c.has(In::past_value),
          "one of past_key and past_value is left out; expected both or none");
  require(
      !c.has(In::past_key) || !c.has(In::filled),
      "past_key and nonpad_kv_seqlen are both given; expected one: the cache is kept by the op, "
      "or outside of it");
}

/// Input k as [batch, heads, length, size].
ValueId heads_of(const Call& c, std::size_t k) {
  if (*c.rank(c.in(k)) == 4) return c.in(k);
  return heads_apart(c, c.in(k), count(c, k == In::query ? "q_num_heads" : "kv_num_heads"));
}

/// The keys or values with those of the past before them.
ValueId after_past(const Call& c, std::size_t past, ValueId fresh) {
  return c.has(past) ? joined(c, {c.in(past), fresh}, 2) : fresh;
}

/// How many keys come before the first query, if any do: i64[1], or [batch, 1, 1, 1] where each
/// batch element has as many as nonpad_kv_seqlen tells, its queries among them.
ValueId keys_before(const Call& c, ValueId q) {
  if (c.has(In::past_key)) return extent(c, c.in(In::past_key), 2);
  if (!c.has(In::filled)) return ValueId::none;
  return minus(c, reshaped(c, c.in(In::filled), {-1, 1, 1, 1}), extent(c, q, 2));
}

/// What a key must be to be attended to by a query; each broadcasts to [batch, heads, length,
/// keys].
std::vector<ValueId> conditions(Call& c, ValueId q, ValueId k) {
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  const std::int64_t left = ranged(c, "left_window_size", -1, -1, any);
  std::int64_t right = ranged(c, "right_window_size", -1, -1, any);
  if (flag(c, "is_causal")) right = 0;
  const ValueId at = counted(c, as_scalar(c, extent(c, k, 2)));
  std::vector<ValueId> all;
  if (left >= 0 || right >= 0) {
    const ValueId rows = unsqueezed(c, counted(c, as_scalar(c, extent(c, q, 2))), {1});
    const ValueId passed = minus(c, plus(c, rows, keys_before(c, q)), at);
    if (right >= 0) all.push_back(c.one("GreaterOrEqual", {passed, c.integer(-right)}));
    if (left >= 0) all.push_back(c.one("LessOrEqual", {passed, c.integer(left)}));
  }
  if (c.has(In::filled)) {
    const ValueId filled = bounded(c, c.in(In::filled), computed(c, {k, 2}),
                                   "nonpad_kv_seqlen has {}; expected 0 to the number of keys, {}",
                                   0);
    all.push_back(c.one("Less", {at, reshaped(c, filled, {-1, 1, 1, 1})}));
  }
  return all;
}

/// Scores that lost their rank to what changed them, a mask of unknown rank for instance.
ValueId of_four_axes(const Call& c, ValueId scores) {
  return c.rank(scores) ? scores : reshaped(c, scores, {0, 0, 0, 0});
}

/// The mask, a bool or of the dtype of the scores, for all keys. From version 24 on it may end
/// before them, and masks those that it has no column for.
ValueId whole_mask(const Call& c, ValueId scores) {
  const bool tells = dtype_of(c, c.in(In::mask)) == DType::boolean;
  const DType t = tells ? DType::boolean : dtype_of(c, scores);
  const ValueId mask = cast(c, c.in(In::mask), t);
  const Length columns{mask, -1}, keys{scores, 3};
  if (c.version() < 24 || known(c, columns) == known(c, keys)) return mask;
  require_lengths(c, columns, keys, true, "attn_mask has more columns than keys");
  const ValueId missing = c.one("Sub", {computed(c, keys), computed(c, columns)});
  const ValueId pads = joined(c, {c.integers({0}), reshaped(c, missing, {1})}, 0);
  const ValueId masked = tells ? c.constant(Tensor::scalar<bool>(false)) : minus_infinity(c, t);
  return c.one("Pad", {mask, pads, masked, c.integers({-1})});
}

/// The scores, with the mask added, and -inf where a query may not attend to a key.
ValueId masked_scores(Call& c, ValueId scores, ValueId q, ValueId k) {
  std::vector<ValueId> must = conditions(c, q, k);
  ValueId y = scores;
  if (c.has(In::mask)) {
    const ValueId mask = whole_mask(c, scores);
    if (dtype_of(c, mask) == DType::boolean) must.push_back(mask);
    else y = plus(c, y, mask);
  }
  if (!must.empty()) {
    ValueId all = must[0];
    for (std::size_t i = 1; i < must.size(); ++i) all = c.one("And", {all, must[i]});
    y = c.one("Where", {all, y, minus_infinity(c, dtype_of(c, y))});
  }
  y = of_four_axes(c, y);
  const ir::Strings names{"the scores with attn_mask", "the scores"};
  for (const std::int64_t axis : {0, 1}) y = with_extent_of(c, y, axis, scores, axis, names);
  for (const std::int64_t axis : {2, 3}) y = with_length_of(c, y, axis, scores, axis, names);
  return y;
}

ValueId softcapped(const Call& c, ValueId scores) {
  const double cap = c.attributes.f("softcap", 0);
  return cap == 0 ? scores : scaled(c, c.one("Tanh", {scaled(c, scores, 1 / cap)}), cap);
}

std::vector<ValueId> attention(Call& c) {
  const std::int64_t mode = ranged(c, "qk_matmul_output_mode", 0, 0, 3);
  // Numbers of heads are needed with 3 axes only.
  const bool flat = c.attributes.i("q_num_heads", 0) != 0;
  const std::int64_t rank = c.rank(c.in(In::query)).value_or(flat ? 3 : 4);
  require(rank == 3 || rank == 4, "Q has rank {}; expected 3 or 4", rank);
  check_inputs(c, rank);
  const DType wide = wide_type(c), inner = softmax_precision(c).value_or(wide);
  const ValueId q = cast(c, heads_of(c, In::query), wide);
  const ValueId keys = after_past(c, In::past_key, heads_of(c, In::key));
  const ValueId values = after_past(c, In::past_value, heads_of(c, In::value));

  const ValueId raw = products(c, q, cast(c, keys, wide));
  const ValueId capped = softcapped(c, raw);
  const ValueId scores = masked_scores(c, capped, q, keys);
  const bool maybe_masked = c.has(In::mask) || c.has(In::filled) ||
                            c.attributes.i("left_window_size", -1) >= 0 ||
                            c.attributes.i("right_window_size", -1) >= 0;
  const ValueId weights = cast(c, softmax(c, cast(c, scores, inner), maybe_masked), wide);
  ValueId y = weighted(c, weights, cast(c, values, wide));
  if (rank == 3) y = heads_joined(c, y);
  const ValueId steps[] = {raw, capped, scores, weights};
  return {as_first(c, y), keys, values, as_first(c, steps[mode])};
}

/// The scores or probabilities as the graph in the attribute changes them, in their shape.
ValueId modified(const Call& c, ValueId x, const std::string& attribute) {
  const auto given = c.graphs.find(attribute);
  if (given == c.graphs.end()) return x;
  const std::vector<ValueId> results = call_graph(c.importer, given->second, attribute,
                                                  std::span(&x, 1), c.scope.region);
  require(results.size() == 1, "its {} has {} outputs; expected 1", attribute, results.size());
  const ir::Type &before = c.type(x), &after = c.type(results[0]);
  require(
      after.is_tensor() && after.dtype() == before.dtype() && c.rank(results[0]).value_or(4) == 4,
      "its {} makes {} of {}; expected the same dtype and shape", attribute, ir::to_text(after),
      ir::to_text(before));
  ValueId y = of_four_axes(c, results[0]);
  for (std::int64_t axis = 0; axis < 4; ++axis)
    y = with_extent_of(c, y, axis, x, axis, {"the result of " + attribute, "its input"});
  return y;
}

std::vector<ValueId> flex_attention(Call& c) {
  for (const std::size_t k : {In::query, In::key, In::value}) {
    require_rank(c, k, 4);
    require(dtype_of(c, c.in(k)) == dtype_of(c, c.in(0)), "Q, K and V are of several dtypes");
  }
  for (const std::size_t k : {In::key, In::value}) require_extent_of(c, k, 0, In::query, 0);
  for (const std::int64_t axis : {1, 2}) require_extent_of(c, In::value, axis, In::key, axis);
  require_extent_of(c, In::key, 3, In::query, 3);
  require_shared_heads(c, c.in(In::query), c.in(In::key));
  const DType wide = wide_type(c), inner = softmax_precision(c).value_or(wide);
  const auto input = [&](std::size_t k) { return cast(c, c.in(k), wide); };

  const ValueId raw = products(c, input(In::query), input(In::key));
  const ValueId scores = modified(c, cast(c, raw, inner), "score_mod");
  const ValueId weights = modified(c, softmax(c, scores, false), "prob_mod");
  return {as_first(c, weighted(c, cast(c, weights, wide), input(In::value)))};
}

}  // namespace

std::span<const Rule> attention_rules() {
  static constexpr Rule rules[] = {
      {"Attention", 23, newest, attention, "-"},
      {"FlexAttention", 1, newest, flex_attention, "-", "ai.onnx.preview"},
  };
  return rules;
}

}  // namespace rondel::onnx
