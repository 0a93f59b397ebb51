#pragma once
#include "ops/meaning.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

/// Equations such as "bij,bjk->bik", for `einsum` and `einsum_sum`.
namespace rondel::ops {

/// A label for each axis of a term: the letter's code, or a number for an axis under the ellipsis,
/// counted from the last such axis.
using Labels = std::vector<int>;

/// An equation for operands of known rank: the labels of the axes of each operand and of the
/// result.
struct AxisLabels {
  std::vector<Labels> operands;
  Labels result;
};
/// Parses an equation. Throws if the equation is malformed or does not fit the operands.
AxisLabels axis_labels(const std::string& equation, std::span<const ir::Type* const> inputs);

/// The equation that takes the axes of the result back to their places in the operand, whose rank
/// may be unknown; nothing if the equation does not only transpose one operand.
std::optional<std::string> transposed_back(const std::string& equation);

/// An equation of two operands as a batched matrix product: the labels of the batch axes, the rows,
/// the columns and the summed axes (in the order of the left operand).
struct Product {
  Labels batch, rows, columns, summed;
};
/// Nothing if the equation is no matrix product: no label is summed, a label occurs twice in a
/// term, or a label of only one operand is not in the result. Extents are not checked.
std::optional<Product> product_of(const AxisLabels&);

/// The type rule of both ops. Axes with the same label must have equal extents, or extent 1.
void einsum_rule(ir::TypeContext&);

}  // namespace rondel::ops
