#include "base/checked.h"
#include "ops/batching.h"
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

/// The axis may equal the rank: then all axes are merged into the rows.
std::int64_t first_column_axis(const ir::Attributes& attributes, std::int64_t rank) {
  const std::int64_t axis = attributes.i("axis");
  return axis == rank ? axis : normal_axis(axis, std::max<std::int64_t>(rank, 1));
}

void flatten_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const ir::Type& x = c.input(0);
  if (!x.has_rank()) return c.output(0, ir::Type::ranked(x.dtype(), 2));
  const std::int64_t axis = first_column_axis(c.attributes(), x.rank());
  c.holds_while();
  c.output(
      0, ir::Type::tensor(x.dtype(), ir::Extents{product(x, 0, axis), product(x, axis, x.rank())}));
}

/// Requires that the extents of the elements are numbers.
std::vector<ir::ValueId> batched_flatten(ir::Builder& b, const ir::Node& node,
                                         std::span<const ir::Batch> inputs) {
  const ir::ValueId stack = inputs[0].value;
  const ir::Type& x = b.graph().value(stack).type;
  if (!x.is_tensor() || !x.has_rank()) return {};
  const std::int64_t axis = 1 + first_column_axis(node.attributes, x.rank() - 1);
  const ir::Extent rows = product(x, 1, axis), columns = product(x, axis, x.rank());
  if (!rows.known() || !columns.known()) return {};
  return {reshaped_to(b, stack, ir::Type::tensor(x.dtype(), {x.extent(0), rows, columns}), [&] {
    const ir::ValueId count = b("shape", {stack}, {{"end", 1}});
    return b("concat", {count, b.integers({rows.value, columns.value})}, {{"axis", 0}});
  })};
}

const ir::OpEntry flatten{{
    .name = "flatten",
    .doc = "y = x as a matrix: the axes before `axis` are its rows, the others its columns",
    .inputs = {{"x"}},
    .attributes = {{"axis", std::int64_t{1}}},
    .type = flatten_rule,
    .meaning = reshaping(),
    .batch = batched_flatten,
    .gradient = reshape_gradient,
}};

}  // namespace
}  // namespace rondel::ops
