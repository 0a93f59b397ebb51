#include "base/error.h"
#include "ops/gradients.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

/// The indices are used as one list, whatever their shape. If x is a vector, the result is a matrix
/// with one row.
void extractor_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  require_dtype(c, 1, DType::i64);
  const ir::Type &x = c.input(0), &indices = c.input(1);
  if (!x.has_rank()) return c.output(0, ir::Type::unranked(x.dtype()));
  require(x.rank() > 0, "x is a scalar; expected at least one axis");
  ir::Extents extents = x.extents();
  extents.back() = indices.is_static() ? ir::Extent(element_count(indices.static_shape()))
                                       : ir::Extent();
  if (x.rank() == 1) extents.insert(extents.begin(), 1);
  c.output(0, ir::Type::tensor(x.dtype(), std::move(extents)));
}

Ex extracted(Emitter& e, std::size_t, const Indices& out) {
  const std::int64_t rank = e.rank(0);
  const Indices at = index_of(e.builder(), out.back(), extents_of(e, 1));
  Indices in(out.end() - rank, out.end());
  in.back() = checked_index(e, e.load(1, at), e.extent(0, rank - 1), "index");
  return e.load(0, in);
}

std::vector<ir::ValueId> extractor_gradient(ir::Builder& b, const ir::Node& node,
                                            std::span<const ir::ValueId> adjoints) {
  const ir::ValueId x = node.inputs[0];
  const ir::ValueId positions = b("reshape", {node.inputs[1], b.integers({-1})});
  const ir::ValueId sums = scatter_adjoint(b, adjoints[0], x, {-1}, std::span(&positions, 1));
  return {with_shape_of(b, sums, x), ir::ValueId::none};
}

const ir::OpEntry array_feature_extractor{{
    .name = "array_feature_extractor",
    .doc = "y = the elements of x along its last axis that the indices name (ai.onnx.ml)",
    .inputs = {{"x"}, {"indices"}},
    .type = extractor_rule,
    .meaning = elements(extracted),
    .can_fail = true,
    .gradient = extractor_gradient,
}};

}  // namespace
}  // namespace rondel::ops
