#include "base/error.h"
#include "ops/compose.h"
#include "ops/type_rules.h"

#include <limits>

namespace rondel::ops {
namespace {

/// The default of `axis`: the tensor as a list.
constexpr std::int64_t whole_tensor = std::numeric_limits<std::int64_t>::min();

void compress_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  require_dtype(c, 1, DType::boolean);
  require_rank(c, 1, 1);
  const ir::Type& x = c.input(0);
  const std::int64_t axis = c.attributes().i("axis", whole_tensor);
  if (axis == whole_tensor) return c.output(0, ir::Type::ranked(x.dtype(), 1));
  if (!x.has_rank()) return c.output(0, ir::Type::unranked(x.dtype()));
  ir::Extents extents = x.extents();
  extents[static_cast<std::size_t>(normal_axis(axis, x.rank()))] = ir::Extent();
  c.output(0, ir::Type::tensor(x.dtype(), std::move(extents)));
}

/// A true condition beyond the end of the axis becomes an index that the gather reports.
std::vector<ir::ValueId> gather_where_true(ir::Builder& b, const ir::Node& node) {
  const std::int64_t axis = node.attributes.i("axis", whole_tensor);
  const bool flat = axis == whole_tensor;
  const ir::ValueId x = flat ? b("reshape", {node.inputs[0], b.integers({-1})}) : node.inputs[0];
  const ir::ValueId found = b("squeeze", {b("non_zero", {node.inputs[1]}), b.integers({0})});
  return {b("gather", {x, found}, {{"axis", flat ? std::int64_t{0} : axis}})};
}

const ir::OpEntry compress{{
    .name = "compress",
    .doc = "y = the slices of x along the axis (without one, its elements) whose condition is true",
    .inputs = {{"x"}, {"condition"}},
    .attributes = {{"axis", whole_tensor}},
    .type = compress_rule,
    .meaning = composite(gather_where_true),
}};

}  // namespace
}  // namespace rondel::ops
