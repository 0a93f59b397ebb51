#include "ops/learned/svm.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

/// Without support vectors, the coefficients are those of features.
bool has_vectors(const ir::Attributes& a) { return a.i("n_supports", 0) > 0; }

void svm_regressor_rule(ir::TypeContext& c) {
  const ir::Attributes& a = c.attributes();
  check_svm_kernel(a);
  const std::int64_t count = a.i("n_supports", 0);
  const ir::Floats coefficients = a.floats("coefficients");
  require(!a.floats("rho").empty(), "rho is empty");
  require(count == 0 || std::ssize(coefficients) == count,
          "there are {} coefficients for {} vectors", coefficients.size(), count);
  const std::int64_t features = count > 0 ? linear_features(a.floats("support_vectors"), count)
                                          : linear_features(coefficients, 1);
  const ir::Extent rows = rows_rule(c, features);
  c.output(0, ir::Type::tensor(DType::f32, ir::Extents{rows, 1}));
}

std::vector<ValueId> svm_regressed(ir::Builder& b, const ir::Node& n) {
  const ir::Attributes& a = n.attributes;
  const ir::Floats coefficients = a.floats("coefficients"), rho{a.floats("rho")[0]};
  ValueId y = ValueId::none;
  if (has_vectors(a)) {
    const ValueId kernels = svm_kernels(b, n.inputs[0], a, a.floats("support_vectors"),
                                        a.i("n_supports"));
    y = linear_scores(b, kernels, coefficients, rho, 1);
  } else {
    y = linear_scores(b, n.inputs[0], coefficients, rho, 1);
  }
  if (!a.flag("one_class")) return {y};
  const auto number = [&](double x) { return b.scalar(DType::f32, x); };
  return {b("where", {b("greater", {y, number(0)}), number(1), number(-1)})};
}

const ir::OpEntry svm_regressor{{
    .name = "svm_regressor",
    .doc =
        "y = the kernels of x and the support vectors, times coefficients, plus rho; its sign for "
        "one class (ai.onnx.ml)",
    .inputs = {{"x"}},
    .attributes = svm_attributes({{"n_supports", std::int64_t{0}}, {"one_class", std::int64_t{0}}}),
    .type = svm_regressor_rule,
    .meaning = composite(svm_regressed),
}};

}  // namespace
}  // namespace rondel::ops
