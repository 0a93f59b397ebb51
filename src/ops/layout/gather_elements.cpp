#include "base/axis.h"
#include "base/error.h"
#include "ops/gradients.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void gather_elements_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  require_dtypes(c, 1, integer_dtypes());
  const ir::Type &x = c.input(0), &indices = c.input(1);
  if (!indices.has_rank()) return c.output(0, ir::Type::unranked(x.dtype()));
  if (x.has_rank()) {
    require(x.rank() == indices.rank(), "ranks {} and {} differ", x.rank(), indices.rank());
    normal_axis(c.attributes().i("axis"), x.rank());
  }
  c.output(0, with_dtype(indices, x.dtype()));
  if (x.has_rank()) c.holds_while();
}

Ex gathered_element(Emitter& e, std::size_t, const Indices& out) {
  const std::int64_t axis = normal_axis(e.attributes().i("axis"), e.rank(0));
  Indices in = out;
  for (std::int64_t a = 0; a < e.rank(0); ++a) {
    const auto at = static_cast<std::size_t>(a);
    in[at] = checked_index(e, a == axis ? e.load(1, out) : out[at], e.extent(0, a), "index");
  }
  return e.load(0, in);
}

bool may_read_outside(const ir::TypeContext& c) {
  const std::int64_t axis = c.attributes().i("axis");
  if (may_be_out_of_range(c, axis)) return true;
  const ir::Extents &x = c.input(0).extents(), &indices = c.input(1).extents();
  if (x.size() != indices.size()) return true;
  for (std::size_t a = 0; a < x.size(); ++a) {
    if (static_cast<std::int64_t>(a) == axis_from_front(axis, std::ssize(x))) continue;
    if (!(ir::Integer(indices[a]) - ir::Integer(x[a])).at_most(0)) return true;
  }
  return false;
}

std::vector<ir::ValueId> gather_elements_gradient(ir::Builder& b, const ir::Node& node,
                                                  std::span<const ir::ValueId> adjoints) {
  const ir::ValueId x = node.inputs[0];
  const ir::ValueId sums = b("scatter_elements",
                             {wide_zeros_like(b, x), node.inputs[1], wide_value(b, adjoints[0])},
                             {{"axis", node.attributes.i("axis")}, {"reduction", "add"}});
  return {as(b, sums, dtype_of(b, x)), ir::ValueId::none};
}

const ir::OpEntry gather_elements{{
    .name = "gather_elements",
    .doc = "y[i] = x[j], where the index j is i with j[axis] = indices[i]",
    .inputs = {{"x"}, {"indices"}},
    .attributes = {{"axis", std::int64_t{0}}},
    .type = gather_elements_rule,
    .meaning = elements(gathered_element),
    .can_fail = may_read_outside,
    .gradient = gather_elements_gradient,
}};

}  // namespace
}  // namespace rondel::ops
