// Attention and its kin. What the bodies that ONNX has for them would broadcast or reshape is
// checked here.
#include "base/axis.h"
#include "formats/onnx/protos.h"
#include "formats/onnx/types.h"
#include "frontends/onnx/microsoft/parts.h"
#include "frontends/onnx/rules/control.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace rondel::onnx {
namespace {

/// The body that ONNX has for the op's own version.
std::vector<ValueId> by_its_body(Call& c, BodyEdit edit = nullptr) {
  if (auto results = c.importer.own_body(c, edit)) return std::move(*results);
  return c.newest();
}

/// An extent of a tensor, on an axis from the front or the end, in a formula: times * extent +
/// plus. Without a tensor it is the number `plus`.
struct Length {
  ValueId x = ValueId::none;
  std::int64_t axis = 0, times = 1, plus = 0;
};

ir::Integer known(const Call& c, const Length& l) {
  if (l.x == ValueId::none) return ir::Integer(l.plus);
  const ir::Type& t = c.type(l.x);
  if (!t.has_rank() || !has_axis(l.axis, t.rank())) return ir::Integer();
  return ir::Integer(t.extent(axis_from_front(l.axis, t.rank()))) * l.times + l.plus;
}

/// The length as a scalar.
ValueId computed(const Call& c, const Length& l) {
  if (l.x == ValueId::none) return c.integer(l.plus);
  const ValueId extent = c.one("Gather", {c.one("Shape", {l.x}), c.integer(l.axis)});
  const ValueId product = l.times == 1 ? extent : times(c, extent, c.integer(l.times));
  return l.plus == 0 ? product : plus(c, product, c.integer(l.plus));
}

/// Requires that a == b, or (`at_most`) a <= b: at once, or in the run if only the run knows it.
void require_lengths(const Call& c, const Length& a, const Length& b, bool at_most,
                     const std::string& message) {
  const ir::Integer left = known(c, a), right = known(c, b);
  if (at_most ? (right - left).at_least(0) : left == right) return;
  require(!left.known() || !right.known(), "{}", message);
  const ValueId holds = c.one(at_most ? "LessOrEqual" : "Equal", {computed(c, a), computed(c, b)});
  require_in_run(c, holds, message);
}

/// Requires that a is one of two lengths.
void require_either(const Call& c, const Length& a, const Length& one, const Length& other,
                    const std::string& message) {
  const ir::Integer given = known(c, a), first = known(c, one), second = known(c, other);
  if (given == first || given == second) return;
  require(!given.known() || !first.known() || !second.known(), "{}", message);
  const auto is = [&](const Length& b) { return c.one("Equal", {computed(c, a), computed(c, b)}); };
  require_in_run(c, c.one("Or", {is(one), is(other)}), message);
}

/// Whether the length is 0 in some run.
bool may_be_zero(const Call& c, const Length& l) { return !known(c, l).at_least(1); }

/// The dtype in which Softmax is computed, if the node says so.
std::optional<DType> softmax_precision(const Call& c) {
  if (c.attributes.find("softmax_precision") == nullptr) return std::nullopt;
  const std::int64_t number = c.attributes.i("softmax_precision");
  for (const DType t : {DType::f32, DType::f16, DType::f64, DType::bf16})
    if (number == data_type_of(t)) return t;
  fail("attribute 'softmax_precision' is {}; expected 1, 10, 11 or 16: f32, f16, f64 or bf16",
       number);
}

void require_range(const Call& c, const char* attribute, std::int64_t otherwise, std::int64_t least,
                   std::int64_t most) {
  const std::int64_t value = c.attributes.i(attribute, otherwise);
  if (value < least || value > most)
    fail("attribute '{}' is {}; expected {}", attribute, value,
         most == std::numeric_limits<std::int64_t>::max() ? fmt::format("{} or more", least)
                                                          : fmt::format("{} to {}", least, most));
}

/// The number of heads of queries is a multiple of that of keys and values.
void require_groups(std::int64_t heads, std::int64_t shared) {
  require(heads % shared == 0, "{} heads of queries are no multiple of {} heads of keys and values",
          heads, shared);
}

/// Checks the numbers of heads. With 4 axes these tell them, and the body takes no attributes.
void read_heads(Call& c) {
  const auto rank = c.rank(c.in(0));
  constexpr const char* names[] = {"q_num_heads", "kv_num_heads"};
  for (std::size_t k = 0; k < std::size(names); ++k) {
    const bool given = c.attributes.i(names[k], 0) != 0;
    require(given || rank != 3, "Q has rank 3: attribute '{}' is missing", names[k]);
    if (given) count(c, names[k]);
    if (rank != 4) continue;
    if (given)
      require_lengths(c, {c.in(k), 1}, {.plus = count(c, names[k])}, false,
                      fmt::format("attribute '{}' is not the number of heads of {}", names[k],
                                  c.schema.inputs()[k].GetName()));
    c.attributes.erase(names[k]);
  }
  if (rank == 3) require_groups(count(c, names[0]), count(c, names[1]));
}

/// In the shapes that the body joins from extents, 0 is an extent.
void keep_zero_keys(pb::FunctionProto& body) {
  for (pb::NodeProto& n : *body.mutable_node())
    if (n.op_type() == "Reshape" &&
        (n.input(1) == "KAttentionShape" || n.input(1) == "VAttentionShape"))
      *n.add_attribute() = attribute_proto("allowzero", std::int64_t{1});
}

/// The body broadcasts batches and heads, which ONNX's text does not.
std::vector<ValueId> same_dtype_attention(Call& c) {
  const ValueId q = c.in(0), k = c.in(1);
  for (const std::size_t input : {1U, 2U, 6U}) require_extent_of(c, input, 0, 0, 0);
  if (c.rank(c.in(2)) == 4) require_extent_of(c, 2, 1, 1, 1);
  if (c.has(3) && !c.has(4))
    require_lengths(c, {c.in(3), -1}, {k, -2}, true, "attn_mask has more columns than keys");
  if (c.has(6))
    c.inputs[6] = bounded(c, c.in(6), computed(c, {k, -2}),
                          "nonpad_kv_seqlen has {}; expected 0 to the number of keys, {}", 0);
  std::vector<ValueId> results = by_its_body(c, keep_zero_keys);
  const std::int64_t common = c.rank(q) == 4 ? 2 : 1;
  for (std::int64_t axis = 0; axis < common; ++axis)
    results[0] = with_extent_of(c, results[0], axis, q, axis, {"the result", "Q"});
  return results;
}

/// The body takes one dtype only: queries, keys and values of several are computed in one that has
/// the numbers of all, and rounded at the end.
std::vector<ValueId> checked_attention(Call& c) {
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  softmax_precision(c);
  require_range(c, "qk_matmul_output_mode", 0, 0, 3);
  require_range(c, "left_window_size", -1, -1, any);
  require_range(c, "right_window_size", -1, -1, any);
  require(c.has(4) == c.has(5),
          "one of past_key and past_value is left out; expected both or none");
  read_heads(c);

  const DType keys = dtype_of(c, c.in(0)), values = dtype_of(c, c.in(2));
  if (keys == values) return same_dtype_attention(c);
  const DType common = keys == DType::f64 || values == DType::f64 ? DType::f64 : DType::f32;
  for (const std::size_t k : {0U, 1U, 2U, 3U, 4U, 5U})
    if (c.has(k) && dtype_of(c, c.in(k)) != DType::boolean) c.inputs[k] = cast(c, c.in(k), common);
  std::vector<ValueId> results = same_dtype_attention(c);
  for (std::size_t j = 0; j < results.size(); ++j)
    if (results[j] != ValueId::none) results[j] = cast(c, results[j], j == 2 ? values : keys);
  return results;
}

/// Keys or values with a head for each head of the queries: each is repeated.
ValueId with_all_heads(const Call& c, ValueId x, ValueId q) {
  const Length heads{q, 1}, own{x, 1};
  const ir::Integer all = known(c, heads), some = known(c, own);
  if (all == some) return x;
  if (all.known() && some.known()) {
    require(*some.number > 0, "K has no heads");
    require_groups(*all.number, *some.number);
  } else {
    const ValueId rest = c.one("Mod", {computed(c, heads), computed(c, own)});
    require_in_run(c, c.one("Equal", {rest, c.integer(0)}),
                   "the heads of Q are no multiple of the heads of K");
  }
  const ValueId batch = extent(c, x, 0), shared = extent(c, x, 1), length = extent(c, x, 2),
                size = extent(c, x, 3), wanted = extent(c, q, 1);
  const ValueId repeats = c.one("Div", {wanted, shared});
  const ValueId repeated = c.one(
      "Expand", {unsqueezed(c, x, {2}), joined(c, {batch, shared, repeats, length, size}, 0)});
  return c.one("Reshape", {repeated, joined(c, {batch, wanted, length, size}, 0)},
               {{"allowzero", std::int64_t{1}}});
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
  ValueId y = results[0];
  for (std::int64_t axis = 0; axis < 4; ++axis)
    y = with_extent_of(c, y, axis, x, axis, {"the result of " + attribute, "its input"});
  return y;
}

std::vector<ValueId> checked_flex_attention(Call& c) {
  for (std::size_t k = 0; k < 3; ++k) {
    const std::int64_t rank = c.rank(c.in(k)).value_or(4);
    require(rank == 4, "input {} ('{}') has rank {}; expected 4", k, c.schema.inputs()[k].GetName(),
            rank);
    require(dtype_of(c, c.in(k)) == dtype_of(c, c.in(0)), "Q, K and V are of several dtypes");
  }
  for (const std::size_t k : {1U, 2U}) require_extent_of(c, k, 0, 0, 0);
  for (const std::int64_t axis : {1, 2}) require_extent_of(c, 2, axis, 1, axis);
  require_extent_of(c, 1, 3, 0, 3);
  const ValueId q = c.in(0);
  const DType dtype = dtype_of(c, q);
  const DType inner = softmax_precision(c).value_or(dtype == DType::f64 ? dtype : DType::f32);
  const ValueId k = with_all_heads(c, c.in(1), q), v = with_all_heads(c, c.in(2), q);

  const ValueId scale = c.attributes.find("scale") != nullptr
                            ? c.number(DType::f32, c.attributes.f("scale", 1))
                            : c.one("Reciprocal",
                                    {c.one("Sqrt", {cast(c, computed(c, {q, -1}), DType::f32)})});
  const ValueId factor = cast(c, c.one("Sqrt", {scale}), dtype);
  const ValueId products = c.one(
      "MatMul", {times(c, q, factor), transposed(c, times(c, k, factor), {0, 1, 3, 2})});
  const ValueId scores = modified(c, cast(c, products, inner), "score_mod");
  const ValueId weights = modified(c, c.one("Softmax", {scores}, {{"axis", std::int64_t{-1}}}),
                                   "prob_mod");
  return {cast(c, c.one("MatMul", {weights, cast(c, v, inner)}), dtype)};
}

/// The body broadcasts the cosines and sines, and counts negative positions from the end.
std::vector<ValueId> checked_rotary_embedding(Call& c) {
  const auto rank = c.rank(c.in(0));
  if (!rank) return by_its_body(c);
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
  return by_its_body(c);
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
  if (c.rank(c.in(0)) != 3 || !may_be_zero(c, {c.in(0), 2})) return by_its_body(c);
  std::vector<ValueId> results = by_its_body(c, add_column);
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

  std::vector<ValueId> results = by_its_body(c);
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

std::span<const Rule> attention_rules() {
  static constexpr Rule rules[] = {
      {"Attention", 23, newest, checked_attention},
      {"RotaryEmbedding", 23, newest, checked_rotary_embedding},
      {"CausalConvWithState", 27, newest, checked_causal_convolution},
      {"LinearAttention", 27, newest, checked_linear_attention},
      {"FlexAttention", 1, newest, checked_flex_attention, "-", "ai.onnx.preview"},
  };
  return rules;
}

}  // namespace rondel::onnx
