#include "base/error.h"
#include "ops/batching.h"
#include "ops/gradients.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

#include <algorithm>

namespace rondel::ops {
namespace {

/// The axes to remove: the given axes, or all axes of extent 1. Nothing if they are not known.
std::optional<ir::Ints> squeezed_axes(const ir::Type& x, bool given,
                                      const std::optional<ir::Ints>& axes) {
  if (given && !axes) return std::nullopt;
  if (axes) return normal_axes(*axes, x.rank());
  ir::Ints ones;
  for (std::int64_t a = 0; a < x.rank(); ++a) {
    if (!x.extent(a).known() && !x.extent(a).symbolic()) return std::nullopt;
    if (x.extent(a).value == 1) ones.push_back(a);
  }
  const bool unsure = std::ranges::any_of(x.extents(),
                                          [](const ir::Extent& e) { return !e.known(); });
  if (unsure) return std::nullopt;
  return ones;
}

void squeeze_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  if (c.has(1)) require_dtype(c, 1, DType::i64);
  const ir::Type& x = c.input(0);
  if (!x.has_rank()) return c.output(0, ir::Type::unranked(x.dtype()));
  const auto removed = squeezed_axes(x, c.has(1), c.has(1) ? c.integers(1) : std::nullopt);
  if (!removed) {
    const bool counted = c.has(1) && c.input(1).has_rank() && c.input(1).rank() == 1 &&
                         c.input(1).extent(0).known() && c.input(1).extent(0).value <= x.rank();
    return c.output(0, counted ? ir::Type::ranked(x.dtype(), x.rank() - c.input(1).extent(0).value)
                               : ir::Type::unranked(x.dtype()));
  }
  ir::Extents extents;
  Conditions conditions;
  for (std::int64_t a = 0; a < x.rank(); ++a) {
    if (std::ranges::count(*removed, a) == 0) {
      extents.push_back(x.extent(a));
      continue;
    }
    require(!x.extent(a).known() || x.extent(a).value == 1,
            "axis {} has extent {}; only axes of extent 1 can go", a, x.extent(a).value);
    conditions.equal(x.extent(a), 1);
  }
  conditions.state(c);
  c.output(0, ir::Type::tensor(x.dtype(), std::move(extents)));
  keep_elements(c);
}

const ir::OpEntry squeeze{{
    .name = "squeeze",
    .doc = "y = x without the axes listed (all of extent 1 where none are)",
    .inputs = {{"x"}, {"axes", ir::InputDef::optional}},
    .type = squeeze_rule,
    .meaning = reshaping(),
    .value_inputs = {1},
    .can_fail = unless_known({1}),
    .batch = along_axes,
    .gradient = reshape_gradient,
}};

}  // namespace
}  // namespace rondel::ops
