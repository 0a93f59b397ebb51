#include "ops/learned/old_trees.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

Ensemble regressor_of(const ir::Attributes& a, DType features) {
  return ensemble_by_ids(a, "target", a.i("n_targets", 1), features);
}

void tree_regressor_rule(ir::TypeContext& c) {
  const ir::Extent rows = rows_rule(c);
  const ir::Attributes& a = c.attributes();
  const Ensemble e = regressor_of(a, c.input(0).dtype());
  post_transform_of(a);
  const auto bases = std::ssize(numbers_of(a, "base_values"));
  require(bases == 0 || bases == e.targets, "there are {} base_values for {} targets", bases,
          e.targets);
  c.output(0, ir::Type::tensor(DType::f32, ir::Extents{rows, e.targets}));
}

std::vector<ValueId> tree_regressed(ir::Builder& b, const ir::Node& n) {
  const Ensemble e = regressor_of(n.attributes, dtype_of(b, n.inputs[0]));
  ValueId scores = scores_of(b, e, n.inputs[0]);
  const ir::Floats bases = numbers_of(n.attributes, "base_values");
  if (!bases.empty())
    scores = b("add", {scores, b.constant(numbers_tensor(e.dtype, {e.targets}, bases))});
  return {as(b, transformed(b, scores, e.targets, post_transform_of(n.attributes)), DType::f32)};
}

const ir::OpEntry tree_ensemble_regressor{{
    .name = "tree_ensemble_regressor",
    .doc =
        "y = the sum (average, minimum, maximum) of the weights of the leaves that each row of x "
        "reaches, plus base_values, after post_transform (ai.onnx.ml)",
    .inputs = {{"x"}},
    .attributes = old_tree_attributes(
        "target", {{"aggregate_function", "SUM"}, {"n_targets", std::int64_t{1}}}),
    .type = tree_regressor_rule,
    .meaning = composite(tree_regressed, {0}),
}};

}  // namespace
}  // namespace rondel::ops
