#include "ops/learned/rows.h"

#include <array>
#include <limits>

namespace rondel::ops {
namespace {

using ir::ValueId;

constexpr std::array transform_names = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};

ValueId like(ir::Builder& b, ValueId x, double v) { return b.scalar(dtype_of(b, x), v); }

/// The softmax of the scores that are not 0, over these scores only.
ValueId softmax_of_others(ir::Builder& b, ValueId x) {
  const ValueId greatest = reduce_kept(b, "reduce_max", x, {-1});
  const ValueId zero = b("less_or_equal", {b("abs", {x}), like(b, x, 1e-7)});
  const ValueId each = b("exp", {b("sub", {x, greatest})});
  const ValueId counted = b("where", {zero, like(b, x, 0), each});
  const ValueId small = b("mul", {x, b("exp", {b("neg", {greatest})})});
  return b("div", {b("where", {zero, small, each}), reduce_kept(b, "reduce_sum", counted, {-1})});
}

/// An approximation of the inverse of the normal distribution's cumulative function (Winitzki),
/// with ONNX Runtime's constants.
ValueId probit(ir::Builder& b, ValueId p) {
  const ValueId one = like(b, p, 1);
  const ValueId x = b("sub", {b("mul", {p, like(b, p, 2)}), one});
  const ValueId log = b("log", {b("mul", {b("sub", {one, x}), b("add", {one, x})})});
  const ValueId v = b("add", {like(b, p, 2 / (3.14159 * 0.147)), b("mul", {log, like(b, p, 0.5)})});
  const ValueId w = b("mul", {log, like(b, p, 1 / 0.147)});
  const ValueId root = b("sqrt", {b("sub", {b("mul", {v, v}), w})});
  const ValueId size = b("sqrt", {b("sub", {root, v})});
  const ValueId negative = b("less", {x, like(b, p, 0)});
  const ValueId erf_inverse = b("where", {negative, b("neg", {size}), size});
  return b("mul", {erf_inverse, like(b, p, 1.41421356)});
}

ValueId joined(ir::Builder& b, ValueId first, ValueId second) {
  return b("concat", {first, second}, {{"axis", std::int64_t{1}}});
}

ValueId opposite_probits(ir::Builder& b, ValueId score) {
  const ValueId p = probit(b, score);
  return joined(b, b("neg", {p}), p);
}

}  // namespace

std::span<const DType> feature_dtypes() {
  static constexpr std::array dtypes = {DType::f32, DType::f64, DType::i64, DType::i32};
  return dtypes;
}

ir::Extent rows_rule(ir::TypeContext& c, std::optional<std::int64_t> features,
                     std::span<const DType> dtypes) {
  require_dtypes(c, 0, dtypes);
  const ir::Type& x = c.input(0);
  if (!x.has_rank()) return {};
  require(x.rank() == 1 || x.rank() == 2,
          "input 0 is {}; expected rows of features, [n, features], or one row", to_text(x));
  const ir::Extent& width = x.extents().back();
  require(!features || !width.known() || width.value == *features,
          "input 0 is {}; the model has {} features", to_text(x), features.value_or(0));
  return x.rank() == 1 ? ir::Extent(1) : x.extent(0);
}

void require_per_feature(const ir::TypeContext& c, std::size_t numbers,
                         std::string_view attribute) {
  const ir::Type& x = c.input(0);
  if (numbers <= 1 || !x.has_rank()) return;
  require(x.rank() > 0, "input 0 is {}; expected rows of features", to_text(x));
  const ir::Extent& width = x.extents().back();
  require(!width.known() || width.value == static_cast<std::int64_t>(numbers),
          "{} has {} numbers, and input 0 is {}; expected one number for each feature, or one",
          attribute, numbers, to_text(x));
}

ValueId with_features_of(ir::Builder& b, ValueId x, ValueId list, std::string_view attribute) {
  const ir::Type t = b.graph().value(x).type;
  if (b.graph().value(list).type.extent(0) == ir::Extent(1)) return x;
  if (t.has_rank() && t.extents().back().known()) return x;
  return b("same_extent", {x, list},
           {{"axes", ir::Ints{-1, 0}}, {"names", ir::Strings{"x", std::string(attribute)}}});
}

/// The last extent of x is that of the matrix, whatever the rank of x.
ValueId matrix_of(ir::Builder& b, ValueId x) {
  const ir::Type t = b.graph().value(x).type;
  if (t.has_rank() && t.rank() == 2) return x;
  if (t.has_rank()) return b("unsqueeze", {x, b.integers({0})});
  const ValueId matrix = b("concat", {b.integers({1, 1}), b("shape", {x})},
                           {{"axis", std::int64_t{0}}});
  const ValueId two = b(
      "slice", {matrix, b.integers({-2}), b.integers({std::numeric_limits<std::int64_t>::max()})});
  return b("reshape", {x, two}, {{"allowzero", std::int64_t{1}}});
}

/// The extent is asserted even if x is only known to be a matrix: no row may be split.
ValueId rows_of(ir::Builder& b, ValueId x, std::int64_t features, DType t) {
  const ValueId matrix = matrix_of(b, x);
  const ir::Type type = b.graph().value(matrix).type;
  if (type.has_rank() && type.extent(1).known()) return as(b, matrix, t);
  const ValueId shape = b.integers({0, features});
  return as(b, b("reshape", {matrix, shape}), t);
}

Tensor numbers_tensor(DType t, Shape shape, const ir::Floats& numbers) {
  if (t == DType::f64) return Tensor::from<double>(std::move(shape), std::span(numbers));
  const std::vector<float> narrow(numbers.begin(), numbers.end());
  return Tensor::from<float>(std::move(shape), std::span(narrow));
}

PostTransform post_transform_of(const ir::Attributes& a) {
  const std::string name = a.s("post_transform", "NONE");
  for (std::size_t k = 0; k < transform_names.size(); ++k)
    if (transform_names[k] == name) return static_cast<PostTransform>(k);
  fail("post_transform is '{}'; expected NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT", name);
}

ValueId transformed(ir::Builder& b, ValueId scores, std::int64_t columns, PostTransform how) {
  if (how == PostTransform::probit) return probit(b, scores);
  if (columns == 1) return scores;
  switch (how) {
    case PostTransform::softmax: return b("softmax", {scores}, {{"axis", std::int64_t{-1}}});
    case PostTransform::logistic: return b("sigmoid", {scores});
    case PostTransform::softmax_zero: return softmax_of_others(b, scores);
    default: return scores;
  }
}

ValueId with_one_minus(ir::Builder& b, ValueId score, PostTransform how) {
  if (how == PostTransform::probit || how == PostTransform::logistic)
    return with_negative(b, score, how);
  return joined(b, b("sub", {like(b, score, 1), score}), score);
}

ValueId with_negative(ir::Builder& b, ValueId score, PostTransform how) {
  if (how == PostTransform::probit) return opposite_probits(b, score);
  const ValueId both = joined(b, b("neg", {score}), score);
  return how == PostTransform::logistic ? b("sigmoid", {both}) : both;
}

Tensor labels_of(const ir::Attributes& a, std::string_view integers, std::string_view texts) {
  const ir::Strings words = a.strings(texts);
  if (!words.empty()) return Tensor::from<std::string>({std::ssize(words)}, std::span(words));
  const ir::Ints numbers = a.ints(integers);
  return Tensor::from<std::int64_t>({std::ssize(numbers)}, std::span(numbers));
}

ValueId chosen_labels(ir::Builder& b, const Tensor& labels, ValueId indices) {
  return b("gather", {b.constant(labels), indices}, {{"axis", std::int64_t{0}}});
}

ValueId first_greatest(ir::Builder& b, ValueId scores, std::int64_t columns) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  ir::Floats instead(static_cast<std::size_t>(columns), -infinity);
  instead.front() = infinity;
  const ValueId instead_of_nan = b.constant(
      numbers_tensor(dtype_of(b, scores), {columns}, instead));
  const ValueId numbers = b("where", {b("is_nan", {scores}), instead_of_nan, scores});
  return b("arg_max", {numbers}, {{"axis", std::int64_t{-1}}, {"keepdims", std::int64_t{0}}});
}

ValueId above(ir::Builder& b, ValueId score, double bound) {
  const ValueId list = b("squeeze", {score, b.integers({1})});
  return as(b, b("greater", {list, like(b, score, bound)}), DType::i64);
}

}  // namespace rondel::ops
