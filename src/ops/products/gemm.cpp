#include "base/error.h"
#include "ops/compose.h"
#include "ops/type_rules.h"

#include <cmath>

namespace rondel::ops {
namespace {

using ir::Type;
using ir::ValueId;

ValueId scaled(ir::Builder& b, ValueId x, double factor) {
  if (factor == 1.0) return x;
  const DType t = b.graph().value(x).type.dtype();
  if (is_integer(t) && factor != std::trunc(factor))
    unsupported("a factor of {} with {}; supported: whole numbers", factor, name(t));
  return b("mul", {x, b.scalar(t, factor)});
}

std::vector<ValueId> gemm_of(ir::Builder& b, const ir::Node& node) {
  const ir::Attributes& a = node.attributes;
  ValueId y = b("mat_mul", {node.inputs[0], node.inputs[1]},
                {{"transpose_a", a.i("transA", 0)}, {"transpose_b", a.i("transB", 0)}});
  y = scaled(b, y, a.f("alpha", 1.0));
  if (!has_input(node, 2)) return {y};
  const double beta = a.f("beta", 1.0);
  if (beta == 0) return {y};  // as in BLAS, even if C has infinities
  return {in_shape_of(b, b("add", {y, scaled(b, node.inputs[2], beta)}), y)};
}

void gemm_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, number_dtypes());
  require_same_dtype(c, 0, 1);
  const Type &a = c.input(0), &b = c.input(1);
  require_rank(c, 0, 2);
  require_rank(c, 1, 2);
  const std::int64_t ta = c.attributes().flag("transA"), tb = c.attributes().flag("transB");
  const ir::Extent m = a.has_rank() ? a.extent(ta) : ir::Extent{};
  const ir::Extent n = b.has_rank() ? b.extent(1 - tb) : ir::Extent{};
  const std::int64_t ka = a.has_rank() ? a.extent(1 - ta).value : -1;
  const std::int64_t kb = b.has_rank() ? b.extent(tb).value : -1;
  require(ka < 0 || kb < 0 || ka == kb, "inner extents {} and {} differ; transpose one of them?",
          ka, kb);
  if (c.has(2)) {
    require_same_dtype(c, 0, 2);
    if (c.input(2).has_rank()) broadcast_onto({m, n}, c.input(2).extents());
  }
  c.output(0, Type::tensor(a.dtype(), ir::Extents{m, n}));
  if (!a.has_rank() || !b.has_rank() || (c.has(2) && !c.input(2).has_rank())) return;
  Conditions conditions;
  conditions.equal(a.extent(1 - ta), b.extent(tb));
  std::vector<const Type*> addend;
  if (c.has(2)) addend.push_back(&c.input(2));
  conditions.broadcasts(addend, {m, n});
  conditions.state(c);
}

const ir::OpEntry gemm{{
    .name = "gemm",
    .doc = "y = alpha * a b + beta * c, of matrices; c is broadcast and may be left out",
    .inputs = {{"a"}, {"b"}, {"c", ir::InputDef::optional}},
    .attributes = {{"alpha", 1.0}, {"beta", 1.0}, {"transA", 0}, {"transB", 0}},
    .type = gemm_rule,
    .meaning = composite(gemm_of, {0, 1, 2}),
}};

}  // namespace
}  // namespace rondel::ops
