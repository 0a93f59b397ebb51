#include "ops/learned/old_trees.h"

#include <algorithm>
#include <limits>

namespace rondel::ops {
namespace {

using ir::ValueId;

/// Trees that classify. Where there are two classes, and leaves have weights for only one of them,
/// its score decides alone; but that of the second class is compared with the base value of the
/// first, if there is one.
struct TreeClasses {
  TreeClasses(const ir::Attributes& a, DType features)
      : labels(labels_of(a, "classlabels_int64s", "classlabels_strings")),
        ensemble(ensemble_by_ids(a, "class", labels.size(), features)),
        bases(numbers_of(a, "base_values")), how(post_transform_of(a)) {
    const std::int64_t count = std::ssize(bases);
    require(count == 0 || count == labels.size() || (count == 1 && labels.size() == 2),
            "there are {} base_values for {} classes", count, labels.size());
    const auto& ids = ensemble.leaf_targets;
    lone = labels.size() == 2 && !ids.empty() && (ids[0] == 0 || count < 2) &&
           std::ranges::count(ids, ids[0]) == std::ssize(ids);
    all_positive = std::ranges::all_of(ensemble.weights, [](double w) { return w >= 0; });
  }
  /// The bases of all classes, or that of a lone score.
  ValueId base(ir::Builder& b) const {
    ir::Floats numbers = bases;
    numbers.resize(lone ? 1 : static_cast<std::size_t>(labels.size()));
    return b.constant(numbers_tensor(ensemble.dtype, {std::ssize(numbers)}, numbers));
  }
  Tensor labels;
  Ensemble ensemble;
  ir::Floats bases;
  PostTransform how;
  bool lone = false, all_positive = false;
};

/// Whether each row gets a score for each class, or no score that a class without one could exceed.
/// Of two classes, one without a score has 0.
bool scores_are_complete(const TreeClasses& c) {
  if (!c.bases.empty() || c.labels.size() == 2) return true;
  if (std::ranges::all_of(c.ensemble.weights, [](double w) { return w > 0; })) return true;
  const Ensemble& e = c.ensemble;
  for (std::size_t l = 0; l + 1 < e.leaf_starts.size(); ++l) {
    std::vector<bool> seen(static_cast<std::size_t>(e.targets));
    for (std::int64_t k = e.leaf_starts[l]; k < e.leaf_starts[l + 1]; ++k)
      seen[static_cast<std::size_t>(e.leaf_targets[static_cast<std::size_t>(k)])] = true;
    if (std::ranges::count(seen, false) > 0) return false;
  }
  return true;
}

/// A class that no leaf of a row names is not chosen, even if all scores are negative. Which
/// classes are named is found by the same trees, with weights of 1.
ValueId only_named(ir::Builder& b, const TreeClasses& c, ValueId x, ValueId scores) {
  Ensemble counts = c.ensemble;
  counts.aggregate = "SUM";
  std::ranges::fill(counts.weights, 1);
  const ValueId named = b("greater", {scores_of(b, counts, x), b.scalar(counts.dtype, 0)});
  const ValueId least = b.scalar(counts.dtype, -std::numeric_limits<double>::infinity());
  return b("where", {named, scores, least});
}

std::vector<ValueId> by_lone_score(ir::Builder& b, const TreeClasses& c, ValueId scores) {
  const std::int64_t column = c.ensemble.leaf_targets[0];
  ValueId score = b("slice",
                    {scores, b.integers({column}), b.integers({column + 1}), b.integers({1})});
  if (!c.bases.empty()) score = b("add", {score, c.base(b)});
  const ValueId label = chosen_labels(b, c.labels, above(b, score, c.all_positive ? 0.5 : 0));
  if (column == 0)
    return {label,
            c.all_positive ? with_one_minus(b, score, c.how) : with_negative(b, score, c.how)};
  const ValueId zero = b("mul", {score, b.scalar(c.ensemble.dtype, 0)});
  return {label, transformed(b, b("concat", {zero, score}, {{"axis", std::int64_t{1}}}), 2, c.how)};
}

std::vector<ValueId> by_greatest_score(ir::Builder& b, const TreeClasses& c, ValueId x,
                                       ValueId scores) {
  const std::int64_t classes = c.labels.size();
  if (!c.bases.empty()) scores = b("add", {scores, c.base(b)});
  const ValueId candidates = scores_are_complete(c) ? scores : only_named(b, c, x, scores);
  return {chosen_labels(b, c.labels, first_greatest(b, candidates, classes)),
          transformed(b, scores, classes, c.how)};
}

void tree_classifier_rule(ir::TypeContext& c) {
  const ir::Extent rows = rows_rule(c);
  const TreeClasses classes(c.attributes(), c.input(0).dtype());
  c.output(0, ir::Type::tensor(classes.labels.dtype(), ir::Extents{rows}));
  if (c.output_count() > 1)
    c.output(1, ir::Type::tensor(DType::f32, ir::Extents{rows, classes.labels.size()}));
}

std::vector<ValueId> tree_classified(ir::Builder& b, const ir::Node& n) {
  const ValueId x = n.inputs[0];
  const TreeClasses c(n.attributes, dtype_of(b, x));
  const ValueId scores = scores_of(b, c.ensemble, x);
  std::vector<ValueId> results = c.lone ? by_lone_score(b, c, scores)
                                        : by_greatest_score(b, c, x, scores);
  results[1] = as(b, results[1], DType::f32);
  return results;
}

const ir::OpEntry tree_ensemble_classifier{{
    .name = "tree_ensemble_classifier",
    .doc =
        "The label with the greatest score, and the scores: the sums of the weights of the leaves "
        "that each row of x reaches, plus base_values, after post_transform (ai.onnx.ml)",
    .inputs = {{"x"}},
    .outputs = {"label", "scores"},
    .attributes = old_tree_attributes(
        "class", {{"classlabels_int64s", ir::Ints{}}, {"classlabels_strings", ir::Strings{}}}),
    .type = tree_classifier_rule,
    .meaning = composite(tree_classified, {0}),
}};

}  // namespace
}  // namespace rondel::ops
