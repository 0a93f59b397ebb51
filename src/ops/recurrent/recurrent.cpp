#include "ops/recurrent/recurrent.h"

#include "ops/gradients.h"
#include "ops/quantized/quantization.h"
#include "ops/type_rules.h"

#include <algorithm>
#include <cctype>

namespace rondel::ops {
namespace {

using ir::Builder;
using ir::Extent;
using ir::Extents;
using ir::Ints;
using ir::Node;
using ir::Type;
using ir::ValueId;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// The default parameters of an activation, and which of the two parameters it has.
struct ActivationDefaults {
  const char* name;
  double alpha, beta;
  bool takes_alpha, takes_beta;
};
constexpr ActivationDefaults known_activations[] = {
    {"sigmoid", 0, 0, false, false},      {"tanh", 0, 0, false, false},
    {"relu", 0, 0, false, false},         {"softsign", 0, 0, false, false},
    {"softplus", 0, 0, false, false},     {"affine", 1, 0, true, true},
    {"leakyrelu", 0.01F, 0, true, false}, {"thresholdedrelu", 1, 0, true, false},
    {"scaledtanh", 1, 1, true, true},     {"hardsigmoid", 0.2F, 0.5, true, true},
    {"elu", 1, 0, true, false},
};

/// The activations of all directions. Each takes the next alpha and the next beta of the
/// attributes, if it has such a parameter.
std::vector<Activation> activations_of(const ir::Attributes& a, const Recurrence& r,
                                       std::size_t directions) {
  ir::Strings names = a.strings("activations");
  if (names.empty())
    for (std::size_t d = 0; d < directions; ++d)
      names.insert(names.end(), r.activations.begin(), r.activations.end());
  // The ONNX default for RNN lists two names even for one direction; extra names are not used.
  const std::size_t wanted = directions * r.activations.size();
  require(names.size() >= wanted, "activations has {} names; expected {}", names.size(), wanted);
  names.resize(wanted);
  const ir::Floats alphas = a.floats("activation_alpha"), betas = a.floats("activation_beta");
  std::size_t next_alpha = 0, next_beta = 0;
  std::vector<Activation> all;
  for (const std::string& name : names) {
    const std::string plain = lower(name);
    const auto* k = std::find_if(std::begin(known_activations), std::end(known_activations),
                                 [&](const ActivationDefaults& x) { return plain == x.name; });
    require(k != std::end(known_activations), "there is no activation '{}'", name);
    const bool alpha = k->takes_alpha && next_alpha < alphas.size();
    const bool beta = k->takes_beta && next_beta < betas.size();
    all.push_back(
        {plain, alpha ? alphas[next_alpha++] : k->alpha, beta ? betas[next_beta++] : k->beta});
  }
  return all;
}

std::size_t directions_of(const ir::Attributes& a) {
  const std::string d = a.s("direction", "forward");
  require(d == "forward" || d == "reverse" || d == "bidirectional",
          "direction is '{}'; expected 'forward', 'reverse' or 'bidirectional'", d);
  return d == "bidirectional" ? 2 : 1;
}

ValueId sliced(Builder& b, ValueId x, std::int64_t from, std::int64_t to, std::int64_t axis) {
  return b("slice", {x, b.integers({from}), b.integers({to}), b.integers({axis})});
}

/// Slice `d` along the first axis, without that axis. It is a view, so weights are not copied.
ValueId row(Builder& b, ValueId x, std::int64_t d) {
  return b("squeeze", {sliced(b, x, d, d + 1, 0), b.integers({0})});
}

/// x in u8, its scale and its zero point. The range includes 0.
struct Quantized {
  ValueId x, scale, zero_point;
};

Quantized quantized(Builder& b, ValueId x) {
  const ValueId zero = b.scalar(DType::f32, 0), one = b.scalar(DType::f32, 1);
  const auto extreme = [&](const char* reduction, const char* with_zero) {
    return b(with_zero, {b(reduction, {x}, {{"keepdims", 0}}), zero});
  };
  const ValueId least = extreme("reduce_min", "min");
  const ValueId range = b("sub", {extreme("reduce_max", "max"), least});
  const ValueId steps = b("div", {range, b.scalar(DType::f32, 255)});
  const ValueId scale = b("where", {b("equal", {range, zero}), one, steps});
  const ValueId at = b("neg", {b("div", {least, scale})});
  const ValueId zero_point = b("quantize_linear", {at, one, b.scalar(DType::u8, 0)});
  return {b("quantize_linear", {x, scale, zero_point}), scale, zero_point};
}

/// The inputs of the op in the layout that the loop uses: time first, in the compute type.
struct Prepared {
  ValueId x, bias = ValueId::none, lengths = ValueId::none, peepholes = ValueId::none;
  std::vector<ValueId> initial;  // [directions, n, hidden] or none
  bool batch_first;
};

Prepared prepare(Builder& b, const Node& node, const Recurrence& r) {
  const bool batch_first = node.attributes.i("layout", 0) == 1;
  const auto wide = [&](std::size_t k) { return wide_value(b, node.inputs[k]); };
  require_rank_in_run(b, node.inputs[0], 3, "x has another rank than 3");
  Prepared p{wide(0), ValueId::none, ValueId::none, ValueId::none, {}, batch_first};
  if (batch_first) p.x = b("transpose", {p.x}, {{"perm", Ints{1, 0, 2}}});
  if (has_input(node, 3)) p.bias = wide(3);
  if (has_input(node, 4)) {
    const ValueId time = b("gather", {b("shape", {p.x}), b.scalar<std::int64_t>(0)});
    const ValueId lengths = with_extent_of(b, node.inputs[4], 0, p.x, 1, {"sequence_lens", "x"});
    p.lengths = b("checked_length", {as(b, lengths, DType::i64), time});
  }
  for (const int at : {5, r.inputs.initial_c}) {
    if (at < 0) continue;
    ValueId h = ValueId::none;
    if (has_input(node, static_cast<std::size_t>(at))) {
      h = wide(static_cast<std::size_t>(at));
      require_rank_in_run(b, h, 3, "an initial state has another rank than 3");
      if (batch_first) h = b("transpose", {h}, {{"perm", Ints{1, 0, 2}}});
      h = with_extent_of(b, h, 1, p.x, 1, {"the initial state", "x"});
    }
    p.initial.push_back(h);
  }
  const auto at = static_cast<std::size_t>(std::max(r.inputs.peepholes, 0));
  if (r.inputs.peepholes >= 0 && has_input(node, at)) p.peepholes = wide(at);
  return p;
}

/// Asserts an extent of input k, if only the run knows it. The type rule has checked known ones.
void check_in_run(Builder& b, const Node& node, std::size_t k, std::int64_t axis,
                  std::int64_t wanted, const char* what) {
  if (has_input(node, k))
    require_extent(b, node.inputs[k], axis, wanted,
                   fmt::format("input {} does not have {} {} on axis {}", k, what, wanted, axis));
}

/// The same for all inputs whose extents follow from the attributes.
void check_all_in_run(Builder& b, const Node& node, const Recurrence& r, std::int64_t directions) {
  const std::int64_t hidden = node.attributes.i("hidden_size"), gates = r.gates * hidden;
  const std::int64_t columns = r.inputs.quantized() ? 2 : 1;
  const std::int64_t states = node.attributes.i("layout", 0) == 1 ? 1 : 0;
  for (const std::size_t k : {1U, 2U, 3U}) check_in_run(b, node, k, 0, directions, "directions");
  for (const std::size_t k : {1U, 2U})
    check_in_run(b, node, k, columns, gates, "gates times hidden =");
  check_in_run(b, node, 2, 3 - columns, hidden, "hidden =");
  check_in_run(b, node, 3, 1, 2 * gates, "biases");
  for (const int at : {5, r.inputs.initial_c, r.inputs.peepholes}) {
    if (at < 0) continue;
    const auto k = static_cast<std::size_t>(at);
    const bool state = at != r.inputs.peepholes;
    check_in_run(b, node, k, state ? states : 0, directions, "directions");
    check_in_run(b, node, k, state ? 2 : 1, state ? hidden : 3 * hidden, "elements");
  }
}

/// The weights of input `k` (1: of x, 2: of the state) for direction `d`, with one row for each
/// input: the weights of all gates are side by side in memory.
Weights weights_of(Builder& b, const Node& node, const RecurrentInputs& inputs, std::size_t k,
                   std::int64_t d) {
  const ValueId own = row(b, wide_value(b, node.inputs[k]), d);
  if (!inputs.quantized()) return {b("transpose", {own}, {{"perm", Ints{1, 0}}})};
  const std::size_t scale = static_cast<std::size_t>(inputs.scales) + 2 * (k - 1);
  return {own, row(b, node.inputs[scale], d), row(b, node.inputs[scale + 1], d)};
}

ValueId zeros(Builder& b, ValueId x, std::int64_t hidden) {
  const ValueId batch = b("shape", {x}, {{"start", 1}, {"end", 2}});
  const ValueId shape = b("concat", {batch, b.integers({hidden})}, {{"axis", 0}});
  return b("constant_of_shape", {shape}, {{"value", Tensor::zeros(dtype_of(b, x), {1})}});
}

/// Whether the time step of trip i is within the length of each sample, bool[n, 1].
ValueId active_mask(Builder& b, const Prepared& p, ValueId i, ValueId extent, bool reverse) {
  ValueId time = i;
  if (reverse) time = b("sub", {b("sub", {extent, b.scalar<std::int64_t>(1)}), i});
  return b("unsqueeze", {b("less", {time, p.lengths}), b.integers({1})});
}

struct DirectionResults {
  std::vector<ValueId> finals;
  ValueId items;
};

DirectionResults one_direction(Builder& b, const Prepared& p, const Recurrence& r, const Node& node,
                               std::size_t d, bool reverse, std::vector<Activation> activations) {
  const std::int64_t hidden = node.attributes.i("hidden_size");
  const auto at = static_cast<std::int64_t>(d);
  const std::int64_t width = r.gates * hidden;
  const bool inner = r.inner_bias(node.attributes);
  Cell cell{
      weights_of(b, node, r.inputs, 2, at), ValueId::none,   ValueId::none, std::move(activations),
      node.attributes.f("clip", 0.0),       &node.attributes};
  if (p.peepholes != ValueId::none) cell.peepholes = row(b, p.peepholes, at);
  ValueId x = weights_of(b, node, r.inputs, 1, at).product(b, p.x);
  if (p.bias != ValueId::none) {
    const ValueId both = row(b, p.bias, at);
    const ValueId input = sliced(b, both, 0, width, 0),
                  recurrence = sliced(b, both, width, 2 * width, 0);
    x = b("add", {x, inner ? input : b("add", {input, recurrence})});
    if (inner) cell.bias = recurrence;
  }
  std::vector<ValueId> inputs;
  for (const ValueId h : p.initial)
    inputs.push_back(h == ValueId::none ? zeros(b, p.x, hidden) : row(b, h, at));
  inputs.push_back(x);
  ir::LoopParts loop;
  loop.states = r.states;
  loop.scans = loop.stacks = 1;
  loop.fixed = Ints(r.states, 1);
  loop.axis_in = loop.axis_out = {0};
  loop.reverse_in = loop.reverse_out = {reverse ? 1 : 0};
  // Where the rank of x is not known, nothing else tells the shape of no steps.
  loop.declared = {ir::Type::tensor(dtype_of(b, x), ir::Extents{Extent(), hidden})};
  const bool ragged = p.lengths != ValueId::none;
  const ValueId extent = ragged ? b("gather", {b("shape", {p.x}), b.scalar<std::int64_t>(0)},
                                    {{"axis", 0}})
                                : ValueId::none;
  const auto body = [&](Builder& in, std::span<const ValueId> params) {
    const std::span<const ValueId> states = params.subspan(2, r.states);
    std::vector<ValueId> next = r.step(in, cell, params[2 + r.states], states);
    ValueId item = next[0];
    if (ragged) {
      const ValueId on = active_mask(in, p, params[0], extent, reverse);
      item = in("where", {on, item, in.scalar(dtype_of(in, item), 0.0)});
      for (std::size_t s = 0; s < r.states; ++s) next[s] = in("where", {on, next[s], states[s]});
    }
    next.insert(next.begin(), params[1]);
    next.push_back(item);
    return next;
  };
  std::vector<ValueId> out = b.loop(loop, std::move(inputs), body);
  return {{out.begin(), out.begin() + static_cast<std::ptrdiff_t>(r.states)}, out[r.states]};
}

/// One value for each direction, stacked along a new axis.
ValueId joined(Builder& b, const std::vector<ValueId>& values, std::int64_t axis) {
  std::vector<ValueId> with_axis;
  for (const ValueId v : values) with_axis.push_back(b("unsqueeze", {v, b.integers({axis})}));
  return with_axis.size() == 1 ? with_axis[0] : b("concat", with_axis, {{"axis", axis}});
}

void check_extent(const ir::TypeContext& c, std::size_t k, std::int64_t axis, std::int64_t wanted,
                  const char* what) {
  if (!c.has(k) || !c.input(k).has_rank() || wanted < 0) return;
  const Extent& e = c.input(k).extent(axis);
  require(!e.known() || e.value == wanted, "input {} is {}; expected {} {} on axis {}", k,
          to_text(c.input(k)), what, wanted, axis);
}

/// Requires that scales and zero points of the weights have an element for each direction, or one
/// for each column of each direction.
void require_scales(const ir::TypeContext& c, std::size_t first, std::int64_t directions) {
  for (const std::size_t weights : {1U, 2U}) {
    const std::size_t scale = first + 2 * (weights - 1);
    require_dtype(c, scale, DType::f32);
    require_same_dtype(c, weights, scale + 1);
    for (const std::size_t k : {scale, scale + 1}) {
      const Type& t = c.input(k);
      require(!t.has_rank() || t.rank() == 1 || t.rank() == 2,
              "input {} is {}; expected one element for each direction, or for each column of it",
              k, to_text(t));
      check_extent(c, k, 0, directions, "directions");
      const Type& w = c.input(weights);
      if (t.has_rank() && t.rank() == 2 && w.has_rank() && w.extent(2).known())
        check_extent(c, k, 1, w.extent(2).value, "columns");
    }
  }
}

}  // namespace

ValueId Activation::operator()(Builder& b, ValueId x) const {
  const DType t = dtype_of(b, x);
  if (name == "affine") return b("add", {b("mul", {x, b.scalar(t, alpha)}), b.scalar(t, beta)});
  if (name == "scaledtanh")
    return b("mul", {b("tanh", {b("mul", {x, b.scalar(t, beta)})}), b.scalar(t, alpha)});
  if (name == "leakyrelu") return b("leaky_relu", {x}, {{"alpha", alpha}});
  if (name == "thresholdedrelu") return b("thresholded_relu", {x}, {{"alpha", alpha}});
  if (name == "hardsigmoid") return b("hard_sigmoid", {x}, {{"alpha", alpha}, {"beta", beta}});
  if (name == "elu") return b("elu", {x}, {{"alpha", alpha}});
  return b(name, {x});
}

ValueId Cell::activate(Builder& b, std::size_t k, ValueId x) const {
  if (clip > 0) {
    const DType t = dtype_of(b, x);
    x = b("clip", {x, b.scalar(t, -clip), b.scalar(t, clip)});
  }
  return activations[k](b, x);
}

ValueId Weights::product(Builder& b, ValueId x) const {
  if (scale == ValueId::none) return b("mat_mul", {x, matrix});
  const Quantized q = quantized(b, x);
  const ValueId sums = b("mat_mul_integer", {q.x, matrix, q.zero_point, zero_point});
  return b("mul", {as(b, sums, DType::f32), b("mul", {q.scale, scale})});
}

ValueId Cell::product(Builder& b, ValueId h) const { return recurrence.product(b, h); }

std::vector<ValueId> split_last_axis(Builder& b, ValueId x, std::int64_t count) {
  return b.add("split", {x}, {{"axis", -1}, {"num_outputs", count}},
               static_cast<std::size_t>(count));
}

std::vector<ValueId> recurrent_loops(Builder& b, const Node& original, const Recurrence& r) {
  Node node = original;
  const Type& weights = b.graph().value(node.inputs[2]).type;
  if (node.attributes.i("hidden_size") == 0) {
    const std::int64_t axis = r.inputs.quantized() ? 1 : 2;
    if (!weights.has_rank() || !weights.extent(axis).known())
      unsupported("hidden_size is not given, and the extents of R are not known");
    node.attributes.set("hidden_size", weights.extent(axis).value);
  }
  const std::size_t directions = directions_of(node.attributes);
  const std::vector<Activation> activations = activations_of(node.attributes, r, directions);
  check_all_in_run(b, node, r, static_cast<std::int64_t>(directions));
  const Prepared p = prepare(b, node, r);
  const std::size_t per = r.activations.size();
  std::vector<std::vector<ValueId>> finals(r.states);
  std::vector<ValueId> items;
  for (std::size_t d = 0; d < directions; ++d) {
    const bool reverse = d == 1 || node.attributes.s("direction", "forward") == "reverse";
    const auto first = activations.begin() + static_cast<std::ptrdiff_t>(d * per);
    const DirectionResults u = one_direction(b, p, r, node, d, reverse,
                                             {first, first + static_cast<std::ptrdiff_t>(per)});
    for (std::size_t s = 0; s < r.states; ++s) finals[s].push_back(u.finals[s]);
    items.push_back(u.items);
  }
  const DType own = dtype_of(b, node.inputs[0]);
  std::vector<ValueId> results(1 + r.states, ValueId::none);
  if (has_output(node, 0)) {
    results[0] = as(b, joined(b, items, 1), own);
    if (p.batch_first) results[0] = b("transpose", {results[0]}, {{"perm", Ints{2, 0, 1, 3}}});
  }
  for (std::size_t s = 0; s < r.states; ++s)
    if (has_output(node, 1 + s))
      results[1 + s] = as(b, joined(b, finals[s], p.batch_first ? 1 : 0), own);
  return results;
}

void recurrent_rule(ir::TypeContext& c, const Recurrence& r) {
  const auto directions = static_cast<std::int64_t>(directions_of(c.attributes()));
  activations_of(c.attributes(), r, static_cast<std::size_t>(directions));
  const bool bytes = r.inputs.quantized();
  const std::size_t scales = bytes ? static_cast<std::size_t>(r.inputs.scales) : c.input_count();
  for (std::size_t k = 0; k < std::min(scales, c.input_count()); ++k) {
    if (!c.has(k)) continue;
    if (k == 4) require_dtype(c, k, DType::i32);
    else if (bytes && (k == 1 || k == 2)) require_dtypes(c, k, byte_dtypes());
    else if (bytes) require_dtype(c, k, DType::f32);
    else require_dtypes(c, k, float_dtypes()), require_same_dtype(c, 0, k);
    require_rank(c, k, k == 4 ? 1 : k == 3 || static_cast<int>(k) == r.inputs.peepholes ? 2 : 3);
    if (k == 1 || k == 2 || k == 3 || static_cast<int>(k) == r.inputs.peepholes)
      check_extent(c, k, 0, directions, "directions");
  }
  if (bytes) require_scales(c, scales, directions);
  const Type &x = c.input(0), &recurrence = c.input(2);
  const bool batch_first = c.attributes().i("layout", 0) == 1;
  const std::int64_t given = c.attributes().i("hidden_size"), columns = bytes ? 2 : 1;
  const std::int64_t rows = 3 - columns;
  Extent hidden = given > 0 ? Extent(given) : Extent();
  if (!hidden.known() && recurrence.has_rank()) hidden = recurrence.extent(rows);
  if (hidden.known()) {
    check_extent(c, 1, columns, r.gates * hidden.value, "gates times hidden =");
    check_extent(c, 2, columns, r.gates * hidden.value, "gates times hidden =");
    check_extent(c, 2, rows, hidden.value, "hidden =");
    check_extent(c, 3, 1, 2 * r.gates * hidden.value, "biases");
    if (r.inputs.peepholes >= 0)
      check_extent(c, static_cast<std::size_t>(r.inputs.peepholes), 1, 3 * hidden.value,
                   "elements");
  }
  if (x.has_rank() && x.extent(2).known()) check_extent(c, 1, rows, x.extent(2).value, "inputs");
  const Extent time = x.has_rank() ? x.extent(batch_first ? 1 : 0) : Extent();
  const Extent batch = x.has_rank() ? x.extent(batch_first ? 0 : 1) : Extent();
  if (batch.known()) check_extent(c, 4, 0, batch.value, "batch");
  for (const int k : {5, r.inputs.initial_c}) {
    if (k < 0) continue;
    const auto initial = static_cast<std::size_t>(k);
    check_extent(c, initial, batch_first ? 1 : 0, directions, "directions");
    if (batch.known()) check_extent(c, initial, batch_first ? 0 : 1, batch.value, "batch");
    if (hidden.known()) check_extent(c, initial, 2, hidden.value, "hidden =");
  }
  const Extents y = batch_first ? Extents{batch, time, directions, hidden}
                                : Extents{time, directions, batch, hidden};
  const Extents last = batch_first ? Extents{batch, directions, hidden}
                                   : Extents{directions, batch, hidden};
  c.output(0, Type::tensor(x.dtype(), y));
  for (std::size_t j = 1; j < c.output_count(); ++j) c.output(j, Type::tensor(x.dtype(), last));
}

ir::Attributes recurrent_attributes() {
  return {{"activation_alpha", ir::Floats{}},
          {"activation_beta", ir::Floats{}},
          {"activations", ir::Strings{}},
          {"clip", 0.0},
          {"direction", "forward"},
          {"hidden_size", 0},
          {"layout", 0}};
}

}  // namespace rondel::ops
