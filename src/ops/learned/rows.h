#pragma once
#include "ops/compose.h"
#include "ops/type_rules.h"

#include <optional>
#include <span>
#include <string_view>

/// What the ops of ai.onnx.ml share: rows of features in, scores and labels out. Where the text of
/// an op leaves a value open, it is ONNX Runtime's.
namespace rondel::ops {

/// The dtypes of features: f32, f64, i64, i32.
std::span<const DType> feature_dtypes();
/// Requires that input 0 is one row [features] or rows [n, features] of one of the dtypes, with
/// this number of features if it is given. Returns the number of rows.
ir::Extent rows_rule(ir::TypeContext&, std::optional<std::int64_t> features = {},
                     std::span<const DType> dtypes = feature_dtypes());
/// Requires that an attribute with one number for each feature, or one for all, fits input 0.
void require_per_feature(const ir::TypeContext&, std::size_t numbers, std::string_view attribute);
/// x, for an attribute whose numbers are `list`: if there are several, it is an error that x has
/// another number of features when it runs.
ir::ValueId with_features_of(ir::Builder&, ir::ValueId x, ir::ValueId list,
                             std::string_view attribute);
/// Rows of which the number of features (1 or more) is known, as a matrix of the dtype.
ir::ValueId rows_of(ir::Builder&, ir::ValueId x, std::int64_t features, DType);
/// Rows as a matrix; one row [features] becomes [1, features].
ir::ValueId matrix_of(ir::Builder&, ir::ValueId x);
/// The numbers as a tensor of dtype f32 or f64.
Tensor numbers_tensor(DType, Shape, const ir::Floats&);

/// How scores become results. The values are the numbers that TreeEnsemble gives them.
enum class PostTransform : std::uint8_t { none, softmax, logistic, softmax_zero, probit };
/// The attribute `post_transform`, by name.
PostTransform post_transform_of(const ir::Attributes&);
/// The transform of scores [n, columns]. One column is only changed by `probit`.
ir::ValueId transformed(ir::Builder&, ir::ValueId scores, std::int64_t columns, PostTransform);
/// Scores [n, 1] of the second of two classes, and before them the opposite score of the first:
/// 1 - s, or -s. `logistic` gives those of -s and s; `probit` two numbers of opposite sign.
ir::ValueId with_one_minus(ir::Builder&, ir::ValueId score, PostTransform);
ir::ValueId with_negative(ir::Builder&, ir::ValueId score, PostTransform);

/// The labels of classes: the texts if there are any, else the integers.
Tensor labels_of(const ir::Attributes&, std::string_view integers, std::string_view texts);
/// The labels with these indices.
ir::ValueId chosen_labels(ir::Builder&, const Tensor& labels, ir::ValueId indices);
/// The index of the greatest of each row of scores [n, columns], the first of several; NaN is never
/// greater.
ir::ValueId first_greatest(ir::Builder&, ir::ValueId scores, std::int64_t columns);
/// 1 where the score [n, 1] is above the bound, else 0: i64[n].
ir::ValueId above(ir::Builder&, ir::ValueId score, double bound);

}  // namespace rondel::ops
