#pragma once
#include "ops/learned/rows.h"

namespace rondel::ops {

/// y = x @ coefficients^T + intercepts, [n, columns] in f32. `coefficients` is [columns, features],
/// row by row; `intercepts` has a number for each column, or none at all.
ir::ValueId linear_scores(ir::Builder&, ir::ValueId x, const ir::Floats& coefficients,
                          const ir::Floats& intercepts, std::int64_t columns);
/// The number of features of such a model; an error if the coefficients do not fill the rows.
std::int64_t linear_features(const ir::Floats& coefficients, std::int64_t columns);
/// A matrix, given row by row, transposed: a constant of f32[columns, rows].
ir::ValueId transposed_constant(ir::Builder&, const ir::Floats&, std::int64_t rows);

}  // namespace rondel::ops
