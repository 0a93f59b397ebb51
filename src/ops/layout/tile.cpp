#include "base/checked.h"
#include "ops/gradients.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

#include <limits>

namespace rondel::ops {
namespace {

void tile_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  require_dtype(c, 1, DType::i64);
  require_rank(c, 1, 1);
  const ir::Type& x = c.input(0);
  if (!x.has_rank()) return c.output(0, ir::Type::unranked(x.dtype()));
  const auto repeats = listed_integers(c, 1);
  if (!repeats) return c.output(0, ir::Type::ranked(x.dtype(), x.rank()));
  require(static_cast<std::int64_t>(repeats->size()) == x.rank(), "{} repeats for rank {}",
          repeats->size(), x.rank());
  ir::Extents extents;
  Conditions conditions;
  for (std::int64_t a = 0; a < x.rank(); ++a) {
    const ir::Integer& times = (*repeats)[static_cast<std::size_t>(a)];
    require(!times.known() || *times.number >= 0, "axis {} is repeated {} times", a,
            times.number.value_or(0));
    conditions.not_negative(times);
    const ir::Extent& e = x.extent(a);
    extents.push_back(times.known() && e.known() ? checked_mul(e.value, *times.number)
                                                 : ir::Extent(ir::Integer(e) * times));
  }
  conditions.state(c);
  c.output(0, ir::Type::tensor(x.dtype(), std::move(extents)));
}

Ex tiled(Emitter& e, std::size_t, const Indices& out) {
  Indices in;
  for (std::size_t a = 0; a < out.size(); ++a) {
    const auto axis = static_cast<std::int64_t>(a);
    const Ex extent = e.extent(0, axis);
    const ir::Extent &from = e.input(0).extent(axis), &to = e.output(0).extent(axis);
    if (from.known_or_symbolic() && from == to) in.push_back(out[a]);
    else if (e.builder().known(extent) == 1) in.push_back(e.builder().index(0));
    else in.push_back(out[a] % extent);
  }
  return e.load(0, in);
}

std::vector<Ex> tiled_extents(Emitter& e, std::size_t) {
  scalar::Builder& b = e.builder();
  b.check(e.extent(1, 0) == e.rank(0), "{} repeats for rank " + std::to_string(e.rank(0)),
          {e.extent(1, 0)});
  std::vector<Ex> extents;
  for (std::int64_t a = 0; a < e.rank(0); ++a) {
    const Ex times = e.load(1, {b.index(a)}), extent = e.extent(0, a);
    b.check(times >= 0, "axis " + std::to_string(a) + " is repeated {} times", {times});
    b.check((extent == 0) | (times <= std::numeric_limits<std::int64_t>::max() /
                                          scalar::max(extent, b.index(1))),
            "axis " + std::to_string(a) + " of extent {} is repeated {} times: it is too long",
            {extent, times});
    extents.push_back(extent * times);
  }
  return extents;
}

/// Splits each axis into an axis of repetitions, which is summed, and the axis of x.
std::vector<ir::ValueId> tile_gradient(ir::Builder& b, const ir::Node& node,
                                       std::span<const ir::ValueId> adjoints) {
  const ir::ValueId x = node.inputs[0];
  const ir::Type type = b.graph().value(x).type;
  if (!type.has_rank()) {
    const auto tiled = [&](ir::ValueId all) { return b("tile", {all, node.inputs[1]}); };
    return {scatter_by_positions(b, adjoints[0], x, tiled), ir::ValueId::none};
  }
  const auto repeats = constant_integers(b, node, 1);
  std::vector<ir::ValueId> extents;
  ir::Ints repetitions;
  for (std::int64_t axis = 0; axis < type.rank(); ++axis) {
    if (!repeats || repeats->at(static_cast<std::size_t>(axis)) != 1) {
      repetitions.push_back(std::ssize(extents));
      extents.push_back(integer_at(b, node.inputs[1], axis));
    }
    extents.push_back(extent_of(b, x, axis));
  }
  if (repetitions.empty()) return {adjoints[0], ir::ValueId::none};
  const ir::ValueId shape = b("concat", std::move(extents), {{"axis", 0}});
  const ir::ValueId parts = b("reshape", {adjoints[0], shape}, {{"allowzero", 1}});
  return {b("reduce_sum", {parts, b.integers(repetitions)}, {{"keepdims", 0}}), ir::ValueId::none};
}

const ir::OpEntry tile{{
    .name = "tile",
    .doc = "y = x repeated along each axis",
    .inputs = {{"x"}, {"repeats"}},
    .type = tile_rule,
    .meaning = elements(tiled, nullptr, tiled_extents),
    .value_inputs = {1},
    .can_fail = unless_known({1}),
    .gradient = tile_gradient,
}};

}  // namespace
}  // namespace rondel::ops
