#include "ops/learned/linear.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

/// A model with one row of scores decides between two classes, 0 and 1 if it names none.
struct LinearClasses {
  explicit LinearClasses(const ir::Attributes& a)
      : labels(labels_of(a, "classlabels_ints", "classlabels_strings")) {
    const auto given = std::ssize(a.floats("intercepts"));
    columns = given > 0 ? given : labels.size();
    opposite = columns == 1 && labels.size() == 2;
    require(columns > 0, "there are neither intercepts nor labels of classes");
    require(columns == 1 || labels.size() == columns, "there are {} labels and {} intercepts",
            labels.size(), columns);
    if (columns > 1 || opposite) return;
    labels = labels.dtype() == DType::string
                 ? Tensor::from<std::string>({2}, {std::string("0"), std::string("1")})
                 : Tensor::from<std::int64_t>({2}, {0, 1});
  }
  Tensor labels;
  std::int64_t columns;
  bool opposite;  ///< the score of the first class is 1 - the score of the second
};

void linear_classifier_rule(ir::TypeContext& c) {
  const ir::Attributes& a = c.attributes();
  const LinearClasses classes(a);
  post_transform_of(a);
  const std::int64_t features = linear_features(a.floats("coefficients"), classes.columns);
  const ir::Extent rows = rows_rule(c, features);
  c.output(0, ir::Type::tensor(classes.labels.dtype(), ir::Extents{rows}));
  if (c.output_count() > 1)
    c.output(
        1, ir::Type::tensor(DType::f32, ir::Extents{rows, classes.opposite ? 2 : classes.columns}));
}

std::vector<ValueId> linearly_classified(ir::Builder& b, const ir::Node& n) {
  const ir::Attributes& a = n.attributes;
  const LinearClasses classes(a);
  const ValueId scores = linear_scores(b, n.inputs[0], a.floats("coefficients"),
                                       a.floats("intercepts"), classes.columns);
  const ValueId index = classes.columns == 1 ? above(b, scores, 0)
                                             : first_greatest(b, scores, classes.columns);
  const PostTransform how = post_transform_of(a);
  return {chosen_labels(b, classes.labels, index),
          classes.opposite ? with_one_minus(b, scores, how)
                           : transformed(b, scores, classes.columns, how)};
}

const ir::OpEntry linear_classifier{{
    .name = "linear_classifier",
    .doc = "The label with the greatest score, and the scores, x @ coefficients^T + intercepts, "
           "after post_transform (ai.onnx.ml)",
    .inputs = {{"x"}},
    .outputs = {"label", "scores"},
    .attributes = {{"classlabels_ints", ir::Ints{}},
                   {"classlabels_strings", ir::Strings{}},
                   {"intercepts", ir::Floats{}},
                   {"multi_class", std::int64_t{0}},
                   {"post_transform", "NONE"}},
    .required = {"coefficients"},
    .type = linear_classifier_rule,
    .meaning = composite(linearly_classified),
}};

}  // namespace
}  // namespace rondel::ops
