#pragma once
#include "ops/meaning.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

/// Equations such as "bij,bjk->bik": what `einsum` and the op it falls back on share.
namespace rondel::ops {

/// The index of each axis of a term: a letter's code, or an axis under the ellipsis, which is
/// counted from the last.
using Labels = std::vector<int>;

/// The whole equation for operands of known rank.
struct Indexed {
  std::vector<Labels> operands;
  Labels result;
};
/// Throws what is wrong with the equation, or with the operands for it.
Indexed indexed(const std::string& equation, std::span<const ir::Type* const> inputs);

/// The batched matrix product that an equation of two operands is, as far as its labels tell:
/// its batch, rows, columns, and what is summed (in the order of the left operand). Nothing where
/// a label stands twice in a term, or stands in one term and not in the result.
struct Product {
  Labels batch, rows, columns, summed;
};
std::optional<Product> product_of(const Indexed&);

/// Extents of one label are equal or 1.
void einsum_rule(ir::TypeContext&);

}  // namespace rondel::ops
