#include "kernels/unique.h"
#include "base/error.h"
#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

#include <limits>

namespace rondel::ops {
namespace {

/// The default of `axis`: no axis.
constexpr std::int64_t no_axis = std::numeric_limits<std::int64_t>::min();

std::vector<DType> comparable() {
  std::vector<DType> all(number_dtypes().begin(), number_dtypes().end());
  all.insert(all.end(), {DType::boolean, DType::string, DType::c64, DType::c128});
  return all;
}

void unique_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, comparable());
  const ir::Type& x = c.input(0);
  const std::int64_t axis = c.attributes().i("axis", no_axis);
  ir::Extent slices;
  ir::Type y = ir::Type::ranked(x.dtype(), 1);
  if (axis == no_axis) {
    if (x.is_static()) slices = element_count(x.static_shape());
    c.holds_while();
  } else if (!x.has_rank()) {
    y = ir::Type::unranked(x.dtype());
  } else {
    c.holds_while();
    ir::Extents extents = x.extents();
    slices = std::exchange(extents[static_cast<std::size_t>(normal_axis(axis, x.rank()))],
                           ir::Extent());
    y = ir::Type::tensor(x.dtype(), std::move(extents));
  }
  c.output(0, std::move(y));
  for (std::size_t j = 1; j < c.output_count(); ++j)
    c.output(j, ir::Type::tensor(DType::i64, ir::Extents{j == 2 ? slices : ir::Extent()}));
}

kernels::UnsizedKernel prepare_unique(const ir::Node& node, std::span<const ir::Type>) {
  kernels::Unique spec;
  if (const std::int64_t axis = node.attributes.i("axis", no_axis); axis != no_axis)
    spec.axis = axis;
  spec.sorted = node.attributes.flag("sorted", true);
  for (std::size_t j = 0; j < spec.wanted.size(); ++j) spec.wanted[j] = has_output(node, j);
  return [spec](kernels::UnsizedCall& call) { kernels::unique(call, spec); };
}

/// The adjoint of each unique slice goes to its first occurrence in x.
std::vector<ir::ValueId> unique_gradient(ir::Builder& b, const ir::Node& node,
                                         std::span<const ir::ValueId> adjoints) {
  const ir::ValueId x = node.inputs[0];
  const ir::ValueId firsts = has_output(node, 1) ? node.outputs[1]
                                                 : b.add("unique", {x}, node.attributes, 2)[1];
  if (const std::int64_t axis = node.attributes.i("axis", no_axis); axis != no_axis)
    return {scatter_adjoint(b, adjoints[0], x, {axis_from_end(b, x, axis)}, std::span(&firsts, 1))};
  const ir::ValueId flat = b("reshape", {x, b.integers({-1})});
  return {with_shape_of(b, scatter_adjoint(b, adjoints[0], flat, {-1}, std::span(&firsts, 1)), x)};
}

const ir::OpEntry unique{{
    .name = "unique",
    .doc = "y = the slices of x along the axis (without one, its elements), each once; their first "
           "indices, the index into y for each slice of x, and their counts",
    .inputs = {{"x"}},
    .outputs = {"y", "indices", "inverse_indices", "counts"},
    .attributes = {{"axis", no_axis}, {"sorted", 1}},
    .type = unique_rule,
    .meaning = finding_kernel(prepare_unique),
    .selects_elements = true,
    .gradient = unique_gradient,
}};

}  // namespace
}  // namespace rondel::ops
