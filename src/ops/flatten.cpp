#include "base/checked.h"
#include "ops/gradients.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

#include <algorithm>

namespace rondel::ops {
namespace {

ir::Extent product(const ir::Type& x, std::int64_t from, std::int64_t to) {
  const std::span<const ir::Extent> extents(x.extents().begin() + from, x.extents().begin() + to);
  if (!std::ranges::all_of(extents, &ir::Extent::known)) return ir::Extent(ir::product(extents));
  std::int64_t p = 1;
  for (const ir::Extent& e : extents) p = checked_mul(p, e.value);
  return p;
}

void flatten_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const ir::Type& x = c.input(0);
  if (!x.has_rank()) return c.output(0, ir::Type::ranked(x.dtype(), 2));
  // The axis may equal the rank: then all axes are merged into the rows.
  std::int64_t axis = c.attributes().i("axis");
  axis = axis == x.rank() ? axis : normal_axis(axis, std::max<std::int64_t>(x.rank(), 1));
  c.holds_while();
  c.output(
      0, ir::Type::tensor(x.dtype(), ir::Extents{product(x, 0, axis), product(x, axis, x.rank())}));
}

const ir::OpEntry flatten{{
    .name = "flatten",
    .doc = "y = x as a matrix: the axes before `axis` are its rows, the others its columns",
    .inputs = {{"x"}},
    .attributes = {{"axis", std::int64_t{1}}},
    .type = flatten_rule,
    .meaning = view(reshaped_view, reshaped_element),
    .gradient = reshape_gradient,
}};

}  // namespace
}  // namespace rondel::ops
