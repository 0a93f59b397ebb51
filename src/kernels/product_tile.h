#pragma once
#include <cstdint>

namespace rondel::kernels {

/// Columns of a panel, and the most rows that one call multiplies by it.
constexpr std::int64_t panel_columns = 32, most_tile_rows = 12;

/// Some rows of a matrix.
struct ProductRows {
  std::int64_t count;  ///< at most `most_tile_rows`
  const float* first;
  std::int64_t step;   ///< from one row to the next
  const float* start;  ///< what each row's sums start with; null: with what y holds
};

/// y[r, j] = start + the sum over k < depth, ascending, of rows[r, k] * panel[offsets[k] + j], for
/// j < `panel_columns`. `y_step`: from one row of y to the next.
void multiply_panel(const ProductRows&, const float* panel, const std::int64_t* offsets,
                    std::int64_t depth, float* y, std::int64_t y_step);

/// y[j] += the sum over k < depth of row[k] * columns[j, k], for j < count; `columns` is row-major.
/// Sums of every 64th k first, then their sum: the same order for each j.
void add_dots(const float* row, const float* columns, std::int64_t depth, float* y,
              std::int64_t count);

}  // namespace rondel::kernels
