#include "ops/optimizers/optimizer.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

constexpr std::size_t first_tensor = 2;

/// The only element of a tensor that may be of rank 1.
ValueId as_scalar(ir::Builder& b, ValueId v) {
  const ir::Type& t = b.graph().value(v).type;
  return t.has_rank() && t.rank() == 0 ? v : b("reshape", {v, b.integers({})});
}

}  // namespace

ValueId Update::scaled(double factor, ValueId v) const {
  return factor == 1 ? v : b("mul", {number(factor), v});
}

ValueId Update::regularized(const ir::Attributes& a) const {
  const double coefficient = a.f("norm_coefficient", 0);
  return coefficient == 0 ? g : b("add", {scaled(coefficient, x), g});
}

bool has_all_ranks(const ir::Graph& g, const ir::Node& node) {
  return std::ranges::all_of(node.inputs, [&](ValueId v) { return g.value(v).type.has_rank(); });
}

std::vector<ValueId> optimizer_update(ir::Builder& b, const ir::Node& node, const Optimizer& o) {
  const ir::Attributes& a = node.attributes;
  const ValueId t = as_scalar(b, node.inputs[1]);
  const ValueId rate = o.rate(b, a, as(b, as_scalar(b, node.inputs[0]), DType::f64), t);
  const std::size_t n = (node.inputs.size() - first_tensor) / (2 + o.states);
  const auto given = [&](std::size_t kind, std::size_t k) {
    return node.inputs[first_tensor + kind * n + k];
  };
  std::vector<ValueId> results((1 + o.states) * n);
  for (std::size_t k = 0; k < n; ++k) {
    const DType dtype = dtype_of(b, given(0, k));
    Update u{b, dtype, as(b, rate, dtype), given(0, k), given(1, k), {}};
    for (std::size_t s = 0; s < o.states; ++s) u.states.push_back(given(2 + s, k));
    const std::vector<ValueId> made = o.step(u, a, t);
    for (std::size_t kind = 0; kind < made.size(); ++kind)
      results[kind * n + k] = in_shape_of(b, made[kind], u.x);
  }
  return results;
}

void optimizer_rule(ir::TypeContext& c, std::size_t states) {
  static constexpr std::array floats{DType::f32, DType::f64};
  require_dtypes(c, 0, floats);
  require_scalar(c, 0);
  require_dtype(c, 1, DType::i64);
  require_scalar(c, 1);
  const std::size_t tensors = c.input_count() - first_tensor, kinds = 2 + states;
  require(tensors > 0 && tensors % kinds == 0,
          "{} tensors are given; expected {} for each variable: its value, its gradient and {}",
          tensors, kinds, states == 1 ? "a state" : fmt::format("{} states", states));
  const std::size_t n = tensors / kinds;
  require(c.output_count() <= (1 + states) * n, "{} outputs are named; {} variables give {}",
          c.output_count(), n, (1 + states) * n);
  for (std::size_t k = 0; k < tensors; ++k) {
    const std::size_t at = first_tensor + k, x = first_tensor + k % n;
    require_dtypes(c, at, floats);
    require_same_dtype(c, x, at);
    if (c.input(x).has_rank() && c.input(at).has_rank())
      broadcast_onto(c.input(x).extents(), c.input(at).extents());
  }
  for (std::size_t j = 0; j < c.output_count(); ++j) c.output(j, c.input(first_tensor + j % n));
}

std::vector<ir::InputDef> optimizer_inputs() {
  return {{"r"}, {"t"}, {"tensors", ir::InputDef::variadic}};
}

}  // namespace rondel::ops
