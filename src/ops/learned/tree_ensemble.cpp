#include "ops/learned/rows.h"
#include "ops/learned/trees.h"

#include <array>

namespace rondel::ops {
namespace {

using ir::ValueId;

PostTransform numbered_transform(const ir::Attributes& a) {
  const std::int64_t how = a.i("post_transform", 0);
  require(how >= 0 && how <= 4, "post_transform is {}; expected 0 to 4", how);
  return static_cast<PostTransform>(how);
}

std::int64_t features_asked(const Ensemble& e) {
  std::int64_t most = 0;
  for (const Branch& b : e.branches) most = std::max(most, b.feature + 1);
  return most;
}

void tree_ensemble_rule(ir::TypeContext& c) {
  static constexpr std::array dtypes = {DType::f32, DType::f64, DType::f16};
  const Ensemble e = ensemble_of(c.attributes());
  numbered_transform(c.attributes());
  const ir::Extent rows = rows_rule(c, {}, dtypes);
  const ir::Type& x = c.input(0);
  require(
      !x.has_rank() || !x.extents().back().known() || x.extents().back().value >= features_asked(e),
      "input 0 is {}; the trees ask for feature {}, counted from 0", to_text(x),
      features_asked(e) - 1);
  c.output(0, ir::Type::tensor(x.dtype(), ir::Extents{rows, e.targets}));
}

std::vector<ValueId> tree_results(ir::Builder& b, const ir::Node& n) {
  Ensemble e = ensemble_of(n.attributes);
  const DType t = dtype_of(b, n.inputs[0]);
  if (t == DType::f64) e.dtype = t;
  const ValueId x = as(b, matrix_of(b, n.inputs[0]), e.dtype);
  const ValueId scores = b("tree_scores", {x}, tree_scores_attributes(e));
  return {as(b, transformed(b, scores, e.targets, numbered_transform(n.attributes)), t)};
}

const ir::OpEntry tree_ensemble{{
    .name = "tree_ensemble",
    .doc =
        "y = the sum (average, minimum, maximum) of the weights of the leaves that each row of x "
        "reaches, after post_transform (ai.onnx.ml)",
    .inputs = {{"x"}},
    .attributes = {{"aggregate_function", std::int64_t{1}},
                   {"membership_values", Tensor::zeros(DType::f32, {0})},
                   {"nodes_hitrates", Tensor::zeros(DType::f32, {0})},
                   {"nodes_missing_value_tracks_true", ir::Ints{}},
                   {"post_transform", std::int64_t{0}}},
    .required = {"leaf_targetids", "leaf_weights", "n_targets", "nodes_falseleafs",
                 "nodes_falsenodeids", "nodes_featureids", "nodes_modes", "nodes_splits",
                 "nodes_trueleafs", "nodes_truenodeids", "tree_roots"},
    .type = tree_ensemble_rule,
    .meaning = composite(tree_results, {0}),
}};

}  // namespace
}  // namespace rondel::ops
