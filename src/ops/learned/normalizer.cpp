#include "ops/learned/rows.h"

#include <limits>

namespace rondel::ops {
namespace {

using ir::ValueId;

void require_norm(const std::string& norm) {
  require(norm == "MAX" || norm == "L1" || norm == "L2", "norm is '{}'; expected MAX, L1 or L2",
          norm);
}

void normalizer_rule(ir::TypeContext& c) {
  rows_rule(c);
  require_norm(c.attributes().s("norm", "MAX"));
  c.output(0, with_dtype(c.input(0), DType::f32));
}

/// NaN is not the greatest element, and the greatest element of nothing is not used.
ValueId greatest_number(ir::Builder& b, ValueId x) {
  const ValueId least = b.scalar(dtype_of(b, x), -std::numeric_limits<float>::max());
  return reduce_kept(b, "reduce_max", b("where", {b("is_nan", {x}), least, x}), {-1});
}

std::vector<ValueId> normalized(ir::Builder& b, const ir::Node& n) {
  const ValueId x = as(b, n.inputs[0], DType::f32);
  const std::string norm = n.attributes.s("norm", "MAX");
  const ValueId size = norm == "MAX"  ? greatest_number(b, x)
                       : norm == "L1" ? reduce_kept(b, "reduce_l1", x, {-1})
                                      : reduce_kept(b, "reduce_l2", x, {-1});
  const ValueId zero = b("equal", {size, b.scalar(DType::f32, 0)});
  return {b("div", {x, b("where", {zero, b.scalar(DType::f32, 1), size})})};
}

const ir::OpEntry normalizer{{
    .name = "normalizer",
    .doc =
        "y = each row of x over its greatest element, its L1 norm or its L2 norm (ai.onnx.ml); a "
        "row whose norm is 0 stays as it is",
    .inputs = {{"x"}},
    .attributes = {{"norm", "MAX"}},
    .type = normalizer_rule,
    .meaning = composite(normalized),
}};

}  // namespace
}  // namespace rondel::ops
