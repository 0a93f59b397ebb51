#include "ops/batching.h"
#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

Ex clipped(Emitter& e, std::span<const Ex> x) {
  Ex y = x[0];
  if (e.has(1)) y = max(y, x[1]);
  if (e.has(2)) y = min(y, x[2]);
  return y;
}

/// If x equals a bound, the derivative is zero.
Dual clip_derivative(Derivation&, std::span<const Dual> x) {
  Dual y = x[0];
  for (const std::size_t k : {1U, 2U}) {
    if (k >= x.size() || x[k].value == ir::ValueId::none) continue;
    Dual bound = x[k];
    bound.is_literal = true;
    y = k == 1 ? max(y, bound) : min(y, bound);
  }
  return y;
}

void clip_rule(ir::TypeContext& c) {
  for (std::size_t k : {1U, 2U}) {
    if (!c.has(k)) continue;
    require_same_dtype(c, 0, k);
    require_scalar(c, k);
    if (c.input(0).has_rank() && c.input(k).has_rank())
      broadcast_onto(c.input(0).extents(), c.input(k).extents());
  }
  require_tensor(c, 0);
  c.output(0, c.input(0));
  std::vector<const ir::Type*> bounds;
  for (std::size_t k : {1U, 2U})
    if (c.has(k)) bounds.push_back(&c.input(k));
  const bool ranked = std::ranges::all_of(bounds, &ir::Type::has_rank) && c.input(0).has_rank();
  if (ranked) holds_if_broadcasts(c, bounds, c.input(0).extents());
}

const ir::OpEntry clip{{
    .name = "clip",
    .doc = "y = x clamped to [min, max], each a scalar that may be left out",
    .inputs = {{"x"}, {"min", ir::InputDef::optional}, {"max", ir::InputDef::optional}},
    .type = numbers_only(clip_rule),
    .meaning = elementwise(clipped),
    .batch = only_first_stacked,
    .gradient = derivative_of_all(clip_derivative),
}};

}  // namespace
}  // namespace rondel::ops
