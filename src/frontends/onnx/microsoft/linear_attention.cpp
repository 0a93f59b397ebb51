// Attention with a state instead of a cache, and the convolution with a state before it.
#include "frontends/onnx/microsoft/attention.h"

#include <limits>

namespace rondel::onnx {
namespace {

/// Input k, [batch, length, heads * size], with each head repeated until there are `wanted`. The
/// last axis of `sized` is a head.
ValueId repeated_heads(const Call& c, std::size_t k, ValueId sized, std::int64_t wanted) {
  const ValueId x = c.in(k);
  const ir::Integer size(c.type(sized).extent(3)), width(c.type(x).extent(2));
  if (width == size * wanted) return x;
  if (size.known() && width.known()) {
    const std::int64_t n = *size.number > 0 ? *width.number / *size.number : 0;
    require(n > 0 && n * *size.number == *width.number && wanted % n == 0,
            "input {} ('{}') is {}; expected heads of {} elements, whose number divides {}", k,
            c.schema.inputs()[k].GetName(), ir::to_text(c.type(x)), *size.number, wanted);
  }
  const ValueId head = extent(c, sized, 3), one = c.integers({1});
  const ValueId heads = bounded(c, c.one("Div", {extent(c, x, 2), head}), c.integer(wanted),
                                fmt::format("{} has {{}} heads as wide as those of query; expected "
                                            "1 to {{}}",
                                            c.schema.inputs()[k].GetName()),
                                1);
  const ValueId each = c.one("Div", {c.integers({wanted}), heads});
  const auto in_shape = [&](ValueId y, std::vector<ValueId> rest) {
    rest.insert(rest.begin(), {extent(c, x, 0), extent(c, x, 1)});
    return c.one("Reshape", {y, joined(c, rest, 0)}, {{"allowzero", std::int64_t{1}}});
  };
  const ValueId apart = in_shape(x, {heads, one, head});
  const ValueId all = c.one("Expand", {apart, joined(c, {one, one, one, each, one}, 0)});
  return in_shape(all, {times(c, head, c.integer(wanted))});
}

/// The heads of a node of LinearAttention: those of the queries and of the values.
struct StateHeads {
  std::int64_t queries, values;
  std::int64_t outputs() const { return std::max(queries, values); }
};

StateHeads state_heads(const Call& c) {
  const StateHeads h{count(c, "q_num_heads"), count(c, "kv_num_heads")};
  require(h.queries % h.values == 0 || h.values % h.queries == 0,
          "q_num_heads = {} and kv_num_heads = {}; expected one to be a multiple of the other",
          h.queries, h.values);
  return h;
}

/// The inputs of LinearAttention by number.
struct In {
  enum Number : std::size_t { query, key, value, past_state, decay, beta };
};

void check_state_inputs(Call& c) {
  for (const std::size_t k : {In::query, In::key, In::value, In::decay, In::beta})
    require_rank(c, k, 3);
  require_rank(c, In::past_state, 4);
  for (const std::size_t k : {In::key, In::value, In::decay, In::beta})
    for (const std::int64_t axis : {0, 1}) require_extent_of(c, k, axis, In::query, axis);
  require_extent_of(c, In::past_state, 0, In::query, 0);
}

/// Leaves out the inputs that the update rule does not read.
void choose_inputs(Call& c) {
  const std::string rule = c.attributes.s("update_rule", "");
  const bool gated = rule == "gated" || rule == "gated_delta";
  const bool delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear") refuse_attribute(c, "update_rule");
  const auto choose = [&](std::size_t k, bool read) {
    require(!read || c.has(k), "input {} ('{}') is left out; update_rule \"{}\" reads it", k,
            c.schema.inputs()[k].GetName(), rule);
    if (!read) c.set_input(k, ValueId::none);
  };
  choose(In::decay, gated);
  choose(In::beta, delta);
}

/// Requires that the last axis of input k has an element for each of `heads` heads, or else `more`
/// in all, which `computed` computes: at once, or in the run if only the run knows it.
void check_width(Call& c, std::size_t k, std::int64_t heads, const ir::Integer& more,
                 ValueId computed) {
  if (!c.has(k)) return;
  const ir::Integer width(c.type(c.in(k)).extent(2));
  if (width == ir::Integer(heads) || width == more) return;
  const std::string message = fmt::format(
      "the last axis of input {} ('{}'), {}, fits neither the {} heads of value nor {}", k,
      c.schema.inputs()[k].GetName(), ir::to_text(c.type(c.in(k))), heads,
      k == In::decay ? "all rows of their states" : "one number for all");
  require(!width.known() || !more.known(), "{}", message);
  const ValueId given = extent(c, c.in(k), 2);
  require_in_run(c,
                 c.one("Or", {c.one("Equal", {given, c.integers({heads})}),
                              c.one("Equal", {given, computed})}),
                 message);
}

}  // namespace

std::vector<ValueId> linear_attention(Call& c) {
  refuse_unless(c, "state_window", std::int64_t{0});
  const StateHeads h = state_heads(c);
  check_state_inputs(c);
  choose_inputs(c);
  const ValueId q = split_heads(c, c.in(In::query), h.queries);
  const ValueId v = split_heads(c, c.in(In::value), h.values);
  ValueId past = c.in(In::past_state);
  if (past != ValueId::none) {
    past = with_extent_of(c, past, 1, v, 2, {"past_state", "the heads of value"});
    past = with_extent_of(c, past, 2, q, 3, {"past_state", "a head of query"});
    past = with_extent_of(c, past, 3, v, 3, {"past_state", "a head of value"});
  }
  check_width(c, In::decay, h.values, ir::Integer(c.type(q).extent(3)) * h.values,
              times(c, extent(c, q, 3), c.integer(h.values)));
  check_width(c, In::beta, h.values, 1, c.integers({1}));
  // ONNX's op has a key for each state, and no fewer queries.
  const ValueId queries = repeated_heads(c, In::query, q, h.outputs());
  const ValueId keys = repeated_heads(c, In::key, q, h.values);
  ir::Attributes attributes = some_attributes(c, {"update_rule", "scale"});
  attributes.set("q_num_heads", h.outputs());
  attributes.set("kv_num_heads", h.values);
  std::vector<ValueId> results = c.add(
      "LinearAttention", {queries, keys, c.in(In::value), past, c.in(In::decay), c.in(In::beta)},
      attributes, 2);
  // Without tokens, ONNX's body does not know how wide a row of the result is.
  const ValueId width = times(c, extent(c, v, 3), c.integer(h.outputs()));
  const ValueId shape = joined(
      c, {extent(c, c.in(In::query), 0), extent(c, c.in(In::query), 1), width}, 0);
  results[0] = c.one("Reshape", {results[0], shape}, {{"allowzero", std::int64_t{1}}});
  return results;
}

namespace {

/// [batch, length, channels...] as [batch, channels, length].
ValueId as_rows(const Call& c, ValueId x) {
  const ValueId channels = c.one("ReduceProd", {c.one("Shape", {x}, {{"start", std::int64_t{2}}})},
                                 {{"keepdims", std::int64_t{1}}});
  const ValueId shape = joined(c, {extent(c, x, 0), extent(c, x, 1), channels}, 0);
  const ValueId flat = c.one("Reshape", {x, shape}, {{"allowzero", std::int64_t{1}}});
  return transposed(c, flat, {0, 2, 1});
}

/// The other way round, with the channels of `like`.
ValueId as_columns(const Call& c, ValueId rows, ValueId like) {
  const ValueId shape = joined(c,
                               {extent(c, rows, 0), extent(c, rows, 2),
                                c.one("Shape", {like}, {{"start", std::int64_t{2}}})},
                               0);
  return c.one("Reshape", {transposed(c, rows, {0, 2, 1}), shape},
               {{"allowzero", std::int64_t{1}}});
}

/// The number of channels of x, [batch, channels, length], or of the kernels, [channels, 1, size].
std::int64_t channels_of(const Call& c, ValueId x, ValueId kernels) {
  for (const ir::Extent& e : {c.type(x).extent(1), c.type(kernels).extent(0)})
    if (e.known()) return e.value;
  unsupported(
      "the number of channels must be known; input 0 ('input') is {} and input 1 ('weight') is {}",
      ir::to_text(c.type(c.in(0))), ir::to_text(c.type(c.in(1))));
}

}  // namespace

/// Each channel with a kernel of its own, over the positions up to that of the result.
std::vector<ValueId> causal_convolution(Call& c) {
  refuse_unless(c, "state_window", std::int64_t{0});
  refuse_unless(c, "ndim", std::int64_t{1});
  const std::int64_t dilation = count(c, "dilation");
  const std::string activation = c.attributes.s("activation", "");
  const bool silu = activation == "silu" || activation == "swish";
  if (!silu && activation != "none") refuse_attribute(c, "activation");
  const bool last = flag(c, "channels_last");
  require_rank(c, 1, 3);
  require_rank(c, 2, 1);
  if (last) {
    require(known_rank(c, 0) >= 3, "input 0 ('input') is {}; expected rank 3 or more",
            ir::to_text(c.type(c.in(0))));
    require_rank(c, 3, known_rank(c, 0));
    for (std::int64_t a = 2; a < known_rank(c, 0); ++a) require_extent_of(c, 3, a, 0, a);
  } else {
    require_rank(c, 0, 3);
    require_rank(c, 3, 3);
    require_extent_of(c, 3, 1, 0, 1);
  }
  require_extent_of(c, 3, 0, 0, 0);
  require_extent_of(c, 2, 0, 1, 0);

  const auto rows = [&](std::size_t k) { return last ? as_rows(c, wide_in(c, k)) : wide_in(c, k); };
  const ValueId x = rows(0);
  const ValueId kernels = with_extent_of(c, wide_in(c, 1), 0, x, 1,
                                         {"weight", "the channels of input"});
  const ValueId held = times(c, minus(c, extent(c, kernels, 2), c.integer(1)), c.integer(dilation));
  const ValueId before =
      c.has(3) ? with_length(c, rows(3), 2, as_scalar(c, held),
                             {"past_state", "what the kernel reads before a position"})
               : c.one("ConstantOfShape", {joined(c, {extent(c, x, 0), extent(c, x, 1), held}, 0)},
                       {{"value", Tensor::zeros(dtype_of(c, x), {1})}});
  const ValueId all = joined(c, {before, x}, 2), length = extent(c, x, 2);
  // A convolution must have a result: without positions, one more is made.
  const std::int64_t more = ir::Integer(c.type(x).extent(2)).at_least(1) ? 0 : 1;
  ValueId y = c.one("Conv", {all, kernels, wide_in(c, 2)},
                    {{"group", channels_of(c, x, kernels)},
                     {"dilations", ir::Ints{dilation}},
                     {"pads", ir::Ints{0, more}}});
  if (more > 0) y = sliced(c, y, c.integers({0}), length, 2);
  if (silu) y = times(c, y, c.one("Sigmoid", {y}));
  ValueId state = sliced(c, all, length, c.integers({std::numeric_limits<std::int64_t>::max()}), 2);
  if (last) {
    y = as_columns(c, y, c.in(0));
    state = as_columns(c, state, c.in(0));
  }
  return {as_first(c, y), as_first(c, state)};
}

}  // namespace rondel::onnx
