#include "ops/learned/linear.h"

namespace rondel::ops {
namespace {

void linear_regressor_rule(ir::TypeContext& c) {
  const ir::Attributes& a = c.attributes();
  const std::int64_t targets = a.i("targets", 1);
  require(targets > 0, "targets is {}; expected 1 or more", targets);
  const std::size_t given = a.floats("intercepts").size();
  require(given == 0 || given == static_cast<std::size_t>(targets),
          "there are {} intercepts for {} targets", given, targets);
  post_transform_of(a);
  const ir::Extent rows = rows_rule(c, linear_features(a.floats("coefficients"), targets));
  c.output(0, ir::Type::tensor(DType::f32, ir::Extents{rows, targets}));
}

std::vector<ir::ValueId> regressed(ir::Builder& b, const ir::Node& n) {
  const ir::Attributes& a = n.attributes;
  const std::int64_t targets = a.i("targets", 1);
  const ir::ValueId scores = linear_scores(b, n.inputs[0], a.floats("coefficients"),
                                           a.floats("intercepts"), targets);
  return {transformed(b, scores, targets, post_transform_of(a))};
}

const ir::OpEntry linear_regressor{{
    .name = "linear_regressor",
    .doc = "y = x @ coefficients^T + intercepts, then post_transform (ai.onnx.ml)",
    .inputs = {{"x"}},
    .attributes = {{"coefficients", ir::Floats{}},
                   {"intercepts", ir::Floats{}},
                   {"post_transform", "NONE"},
                   {"targets", std::int64_t{1}}},
    .type = linear_regressor_rule,
    .meaning = composite(regressed),
}};

}  // namespace
}  // namespace rondel::ops
