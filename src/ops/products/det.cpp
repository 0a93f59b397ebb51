#include "base/error.h"
#include "kernels/determinant.h"
#include "ops/batching.h"
#include "ops/gradients.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void det_rule(ir::TypeContext& c) {
  const ir::Type& x = c.input(0);
  if (!x.has_rank()) return c.output(0, x);
  require(x.rank() >= 2, "input 0 is {}; expected square matrices in its last two axes",
          to_text(x));
  const ir::Extent &rows = x.extent(x.rank() - 2), &columns = x.extent(x.rank() - 1);
  require(!rows.known() || !columns.known() || rows.value == columns.value,
          "matrices of {} rows and {} columns; expected square matrices", rows.value,
          columns.value);
  c.output(0, ir::Type::tensor(x.dtype(), {x.extents().begin(), x.extents().end() - 2}));
  Conditions conditions;
  conditions.equal(rows, columns);
  conditions.state(c);
}

SizedKernelMeaning::Kernel prepare_det(const ir::Node&, std::span<const ir::Type> inputs) {
  return kernels::determinant(inputs[0].dtype(), static_cast<std::size_t>(inputs[0].rank()));
}

/// The adjoint of element (i, j) is its cofactor: the determinant of the matrix with row i replaced
/// by zeros and a one in column j. Singular matrices have cofactors, too.
std::vector<ir::ValueId> det_gradient(ir::Builder& b, const ir::Node& node,
                                      std::span<const ir::ValueId> adjoints) {
  const ir::ValueId x = node.inputs[0];
  const auto numbers = [&](const ir::Ints& axes) {
    return b("unsqueeze", {iota(b, extent_of(b, x, -1)), b.integers(axes)});
  };
  // Axes [i, j, row, column] after the axes of the stack.
  const ir::ValueId replaced = b("equal", {numbers({1, 2, 3}), numbers({0, 1, 3})});
  const ir::ValueId one = b("equal", {numbers({0, 2, 3}), numbers({0, 1, 2})});
  const ir::ValueId matrices = b("unsqueeze", {x, b.integers({-4, -3})});
  const ir::ValueId minors = b("det",
                               {b("where", {replaced, as(b, one, dtype_of(b, x)), matrices})});
  const ir::ValueId dy = b("unsqueeze", {adjoints[0], b.integers({-2, -1})});
  return {b("mul", {dy, minors})};
}

const ir::OpEntry det{{
    .name = "det",
    .doc = "y = the determinants of the matrices in the last two axes of x",
    .inputs = {{"x"}},
    .type = floats_only(det_rule),
    .meaning = kernel(prepare_det),
    .batch = only_first_stacked,
    .gradient = det_gradient,
}};

}  // namespace
}  // namespace rondel::ops
