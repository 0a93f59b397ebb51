#include "ops/learned/linear.h"

namespace rondel::ops {

using ir::ValueId;

std::int64_t linear_features(const ir::Floats& coefficients, std::int64_t columns) {
  const std::int64_t count = std::ssize(coefficients);
  require(columns > 0 && count > 0 && count % columns == 0,
          "there are {} coefficients for {} rows; expected as many for each, and at least one",
          count, columns);
  return count / columns;
}

ValueId transposed_constant(ir::Builder& b, const ir::Floats& matrix, std::int64_t rows) {
  const std::int64_t columns = std::ssize(matrix) / rows;
  ir::Floats turned;
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t i = 0; i < rows; ++i)
      turned.push_back(matrix[static_cast<std::size_t>(i * columns + j)]);
  return b.constant(numbers_tensor(DType::f32, {columns, rows}, turned));
}

ValueId linear_scores(ir::Builder& b, ValueId x, const ir::Floats& coefficients,
                      const ir::Floats& intercepts, std::int64_t columns) {
  const ValueId rows = rows_of(b, x, linear_features(coefficients, columns), DType::f32);
  const ValueId y = b("mat_mul", {rows, transposed_constant(b, coefficients, columns)});
  if (intercepts.empty()) return y;
  return b("add", {y, b.constant(numbers_tensor(DType::f32, {columns}, intercepts))});
}

}  // namespace rondel::ops
