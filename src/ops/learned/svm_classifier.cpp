#include "ops/learned/svm.h"

#include <algorithm>
#include <numeric>

namespace rondel::ops {
namespace {

using ir::ValueId;

/// A classifier with support vectors decides between each pair of classes, and classes get votes;
/// one without has a row of coefficients for each class.
struct SvmClasses {
  explicit SvmClasses(const ir::Attributes& a)
      : labels(labels_of(a, "classlabels_ints", "classlabels_strings")), count(labels.size()),
        pairs(count * (count - 1) / 2), of_class(a.ints("vectors_per_class")),
        coefficients(a.floats("coefficients")), vectors(a.floats("support_vectors")),
        rho(a.floats("rho")), prob_a(a.floats("prob_a")), prob_b(a.floats("prob_b")),
        how(post_transform_of(a)) {
    check_svm_kernel(a);
    require(count > 0, "neither classlabels_ints nor classlabels_strings names a class");
    for (const std::int64_t n : of_class) {
      require(n >= 0 && n < std::int64_t{1} << 40, "vectors_per_class has {}", n);
      vector_count += n;
    }
    if (pairwise()) check_pairs();
    else features = linear_features(coefficients, count);
    require(!rho.empty(), "rho is empty");
  }
  bool pairwise() const { return vector_count > 0; }
  bool probable() const { return pairwise() && !prob_a.empty(); }
  std::int64_t columns() const {
    if (!pairwise() || probable()) return count;
    return count == 2 ? 2 : pairs;
  }

  Tensor labels;
  std::int64_t count, pairs, vector_count = 0, features = 0;
  ir::Ints of_class;
  ir::Floats coefficients, vectors, rho, prob_a, prob_b;
  PostTransform how;

 private:
  void check_pairs() {
    features = linear_features(vectors, vector_count);
    const auto expect = [](std::size_t have, std::int64_t wanted, std::string_view what) {
      require(static_cast<std::int64_t>(have) == wanted, "{} has {} elements; expected {}", what,
              have, wanted);
    };
    require(count >= 2, "support vectors of {} class; expected 2 or more", count);
    expect(of_class.size(), count, "vectors_per_class");
    expect(coefficients.size(), (count - 1) * vector_count, "coefficients");
    expect(rho.size(), pairs, "rho");
    expect(prob_b.size(), std::ssize(prob_a), "prob_b");
    if (!prob_a.empty()) expect(prob_a.size(), pairs, "prob_a");
  }
};

/// Calls f(pair, i, j) for each pair of classes i < j.
template <class F> void for_each_pair(std::int64_t classes, const F& f) {
  std::int64_t pair = 0;
  for (std::int64_t i = 0; i < classes; ++i)
    for (std::int64_t j = i + 1; j < classes; ++j) f(pair++, i, j);
}

/// The coefficients of each vector in each pair, [pairs, vectors]: the vectors of class i have
/// those against class j in row j - 1, or row j if j < i.
ir::Floats pair_coefficients(const SvmClasses& c) {
  ir::Ints first(c.of_class.size() + 1, 0);
  std::partial_sum(c.of_class.begin(), c.of_class.end(), first.begin() + 1);
  ir::Floats w(static_cast<std::size_t>(c.pairs * c.vector_count));
  for_each_pair(c.count, [&](std::int64_t pair, std::int64_t i, std::int64_t j) {
    const auto copy = [&](std::int64_t of, std::int64_t row) {
      for (std::int64_t v = first[static_cast<std::size_t>(of)];
           v < first[static_cast<std::size_t>(of) + 1]; ++v)
        w[static_cast<std::size_t>(pair * c.vector_count + v)] =
            c.coefficients[static_cast<std::size_t>(row * c.vector_count + v)];
    };
    copy(i, j - 1);
    copy(j, i);
  });
  return w;
}

/// The number of pairs that each class wins, as f32: the first if the score is above 0.
ValueId votes_of(ir::Builder& b, const SvmClasses& c, ValueId scores) {
  ir::Floats first(static_cast<std::size_t>(c.pairs * c.count)), second = first;
  for_each_pair(c.count, [&](std::int64_t pair, std::int64_t i, std::int64_t j) {
    first[static_cast<std::size_t>(pair * c.count + i)] = 1;
    second[static_cast<std::size_t>(pair * c.count + j)] = 1;
  });
  const ValueId wins = b("greater", {scores, b.scalar(DType::f32, 0)});
  const auto times = [&](ValueId v, const ir::Floats& matrix) {
    return b("mat_mul", {as(b, v, DType::f32),
                         b.constant(numbers_tensor(DType::f32, {c.pairs, c.count}, matrix))});
  };
  return b("add", {times(wins, first), times(b("not", {wins}), second)});
}

ValueId probabilities_of(ir::Builder& b, const SvmClasses& c, ValueId scores) {
  const auto list = [&](const ir::Floats& x) {
    return b.constant(numbers_tensor(DType::f32, {c.pairs}, x));
  };
  const auto number = [&](double x) { return b.scalar(DType::f32, x); };
  const ValueId decision = b("add", {b("mul", {scores, list(c.prob_a)}), list(c.prob_b)});
  const ValueId pairs = b("sub", {number(1), b("sigmoid", {decision})});
  const ValueId inside = b("clip", {pairs, number(1e-7), number(1 - 1e-7)});
  return b("class_probabilities", {inside}, {{"classes", c.count}});
}

/// Scores of features: of two classes, the second is chosen if the greatest score is above 0, or at
/// least 0.5 where no coefficient is negative.
std::vector<ValueId> by_features(ir::Builder& b, const SvmClasses& c, ValueId x) {
  const ir::Floats rho(static_cast<std::size_t>(c.count), c.rho[0]);
  const ValueId scores = linear_scores(b, x, c.coefficients, rho, c.count);
  ValueId index = first_greatest(b, scores, c.count);
  if (c.count == 2) {
    const bool positive = std::ranges::all_of(c.coefficients, [](double w) { return w >= 0; });
    const ValueId best = b("gather_elements", {scores, b("unsqueeze", {index, b.integers({1})})},
                           {{"axis", std::int64_t{1}}});
    const ValueId bound = b.scalar(DType::f32, positive ? 0.5 : 0);
    const ValueId second = b(positive ? "greater_or_equal" : "greater",
                             {b("squeeze", {best, b.integers({1})}), bound});
    index = b("where", {second, b.scalar(std::int64_t{1}), index});
  }
  return {index, transformed(b, scores, c.count, c.how)};
}

std::vector<ValueId> by_pairs(ir::Builder& b, const SvmClasses& c, ValueId x,
                              const ir::Attributes& a) {
  const ValueId kernels = svm_kernels(b, x, a, c.vectors, c.vector_count);
  const ValueId scores = linear_scores(b, kernels, pair_coefficients(c), c.rho, c.pairs);
  const ValueId index = first_greatest(b, votes_of(b, c, scores), c.count);
  if (c.probable()) return {index, transformed(b, probabilities_of(b, c, scores), c.count, c.how)};
  if (c.count > 2) return {index, transformed(b, scores, c.pairs, c.how)};
  return {index, c.how == PostTransform::none ? with_negative(b, scores, c.how)
                                              : with_one_minus(b, scores, c.how)};
}

void svm_classifier_rule(ir::TypeContext& c) {
  const SvmClasses classes(c.attributes());
  const ir::Extent rows = rows_rule(c, classes.features);
  c.output(0, ir::Type::tensor(classes.labels.dtype(), ir::Extents{rows}));
  if (c.output_count() > 1)
    c.output(1, ir::Type::tensor(DType::f32, ir::Extents{rows, classes.columns()}));
}

std::vector<ValueId> svm_classified(ir::Builder& b, const ir::Node& n) {
  const SvmClasses c(n.attributes);
  const std::vector<ValueId> results = c.pairwise() ? by_pairs(b, c, n.inputs[0], n.attributes)
                                                    : by_features(b, c, n.inputs[0]);
  return {chosen_labels(b, c.labels, results[0]), results[1]};
}

const ir::OpEntry svm_classifier{{
    .name = "svm_classifier",
    .doc = "The label that wins most pairs of classes, and the scores of the pairs, or the "
           "probabilities of the classes (ai.onnx.ml)",
    .inputs = {{"x"}},
    .outputs = {"label", "scores"},
    .attributes = svm_attributes({{"classlabels_ints", ir::Ints{}},
                                  {"classlabels_strings", ir::Strings{}},
                                  {"prob_a", ir::Floats{}},
                                  {"prob_b", ir::Floats{}},
                                  {"vectors_per_class", ir::Ints{}}}),
    .type = svm_classifier_rule,
    .meaning = composite(svm_classified),
}};

}  // namespace
}  // namespace rondel::ops
