#include "base/error.h"
#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

void neighbour_sum_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, float_dtypes());
  const ir::Type& x = c.input(0);
  if (x.has_rank()) normal_axis(c.attributes().i("axis"), x.rank());
  for (const char* side : {"before", "after"}) {
    const std::int64_t n = c.attributes().i(side);
    require(n >= 0 && n < std::int64_t{1} << 31, "{} is {}; expected 0 or more", side, n);
  }
  c.output(0, x);
  if (x.has_rank()) c.holds_while();
}

Ex sum_of_neighbours(Emitter& e, std::size_t, const Indices& out) {
  scalar::Builder& b = e.builder();
  const std::int64_t axis = normal_axis(e.attributes().i("axis"), e.rank(0));
  const Ex here = out[static_cast<std::size_t>(axis)];
  const Ex first = scalar::max(here - e.attributes().i("before"), b.index(0));
  const Ex end = scalar::min(here + (e.attributes().i("after") + 1), e.extent(0, axis));
  const Ex zero = b.constant(scalar::compute_type(e.dtype(0)), 0.0);
  const auto sums = b.for_(first, end, {zero}, [&](Ex i, std::span<const Ex> sum) {
    Indices at = out;
    at[static_cast<std::size_t>(axis)] = i;
    return std::vector<Ex>{sum[0] + widened(e.load(0, at))};
  });
  return narrowed(e.dtype(0), sums[0]);
}

/// Each element is part of the sums of its neighbours on the other sides.
std::vector<ir::ValueId> neighbour_sum_gradient(ir::Builder& b, const ir::Node& node,
                                                std::span<const ir::ValueId> adjoints) {
  ir::Attributes mirrored = node.attributes;
  mirrored.set("before", node.attributes.i("after"));
  mirrored.set("after", node.attributes.i("before"));
  return {b("neighbour_sum", {adjoints[0]}, std::move(mirrored))};
}

const ir::OpEntry neighbour_sum{{
    .name = "neighbour_sum",
    .doc = "y = the sum of each element, the `before` elements before it along the axis, and the "
           "`after` elements after it, in order",
    .inputs = {{"x"}},
    .required = {"after", "axis", "before"},
    .type = neighbour_sum_rule,
    .meaning = elements(sum_of_neighbours),
    .gradient = neighbour_sum_gradient,
}};

}  // namespace
}  // namespace rondel::ops
