#include "ops/learned/rows.h"

namespace rondel::ops {
namespace {

void scaler_rule(ir::TypeContext& c) {
  rows_rule(c);
  for (const char* name : {"offset", "scale"})
    require_per_feature(c, c.attributes().floats(name).size(), name);
  c.output(0, with_dtype(c.input(0), DType::f32));
}

/// f64 is computed in f64, and rounded once.
std::vector<ir::ValueId> scaled(ir::Builder& b, const ir::Node& n) {
  const DType t = dtype_of(b, n.inputs[0]) == DType::f64 ? DType::f64 : DType::f32;
  const auto applied = [&](const char* op, ir::ValueId x, const char* name, double otherwise) {
    ir::Floats numbers = n.attributes.floats(name);
    if (numbers.empty()) numbers = {otherwise};
    const ir::ValueId list = b.constant(numbers_tensor(t, {std::ssize(numbers)}, numbers));
    return b(op, {with_features_of(b, x, list, name), list});
  };
  const ir::ValueId moved = applied("sub", as(b, n.inputs[0], t), "offset", 0);
  return {as(b, applied("mul", moved, "scale", 1), DType::f32)};
}

const ir::OpEntry scaler{{
    .name = "scaler",
    .doc = "y = (x - offset) * scale, with one number for each feature or one for all (ai.onnx.ml)",
    .inputs = {{"x"}},
    .attributes = {{"offset", ir::Floats{}}, {"scale", ir::Floats{}}},
    .type = scaler_rule,
    .meaning = composite(scaled),
}};

}  // namespace
}  // namespace rondel::ops
