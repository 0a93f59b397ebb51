#include "ops/positions.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void gather_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  require_dtypes(c, 1, integer_dtypes());
  const ir::Type &x = c.input(0), &indices = c.input(1);
  if (!x.has_rank() || !indices.has_rank()) return c.output(0, ir::Type::unranked(x.dtype()));
  const std::int64_t axis = normal_axis(c.attributes().i("axis"), x.rank());
  ir::Extents extents = x.extents();
  const auto at = extents.erase(extents.begin() + axis);
  extents.insert(at, indices.extents().begin(), indices.extents().end());
  c.output(0, ir::Type::tensor(x.dtype(), std::move(extents)));
}

Ex gathered(Emitter& e, std::size_t, const Indices& out) {
  const std::int64_t axis = normal_axis(e.attributes().i("axis"), e.rank(0));
  const auto first = out.begin() + axis, last = first + e.rank(1);
  Indices in(out.begin(), first);
  in.push_back(checked_index(e, e.load(1, Indices(first, last)), e.extent(0, axis), "index"));
  in.insert(in.end(), last, out.end());
  return e.load(0, in);
}

const ir::OpEntry gather{{
    .name = "gather",
    .doc = "y = the slices of x along `axis` that the indices name",
    .inputs = {{"x"}, {"indices"}},
    .attributes = {{"axis", std::int64_t{0}}},
    .type = gather_rule,
    .meaning = elements(gathered),
    .can_fail = true,
}};

}  // namespace
}  // namespace rondel::ops
