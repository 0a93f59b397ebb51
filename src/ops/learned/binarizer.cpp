#include "ops/gradients.h"
#include "ops/learned/rows.h"

namespace rondel::ops {
namespace {

void binarizer_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, feature_dtypes());
  c.output(0, c.input(0));
  c.holds_while();
}

const ir::OpEntry binarizer{{
    .name = "binarizer",
    .doc = "y = 1 where x > threshold, else 0 (ai.onnx.ml)",
    .inputs = {{"x"}},
    .attributes = {{"threshold", 0.0}},
    .type = binarizer_rule,
    .meaning = elementwise([](Emitter& e, std::span<const Ex> x) {
      // An integer is above the threshold if it is above it as a float.
      const DType t = is_float(x[0].type()) ? x[0].type() : DType::f64;
      scalar::Builder& b = e.builder();
      return cast(e.output_dtype(),
                  cast(t, x[0]) > b.constant(t, e.attributes().f("threshold", 0)));
    }),
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
