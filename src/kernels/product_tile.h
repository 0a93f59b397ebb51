#pragma once
#include <cstdint>

namespace rondel::kernels {

/// The number of columns of a panel, and the most rows that one call multiplies by a panel.
constexpr std::int64_t panel_columns = 32, most_tile_rows = 12;

// T is float or double.

/// Rows of the left factor of a product.
template <class T> struct ProductRows {
  std::int64_t count;  ///< at most `most_tile_rows`
  const T* first;
  std::int64_t step;  ///< stride from one row to the next
  const T* start;     ///< the initial value of the sums, per row; null: the values in y
};

/// y[r, j] = start[r] + the sum over k < depth, ascending, of rows[r, k] * panel[offsets[k] + j],
/// for j < `panel_columns`. `y_step`: stride from one row of y to the next.
template <class T>
void multiply_panel(const ProductRows<T>&, const T* panel, const std::int64_t* offsets,
                    std::int64_t depth, T* y, std::int64_t y_step);

/// y[j] += the sum over k < depth of row[k] * columns[j, k], for j < count; `columns` is row-major.
/// The terms with equal k modulo 64 (f64: 32) are summed first, then these sums: the same order for
/// each j.
template <class T>
void add_dots(const T* row, const T* columns, std::int64_t depth, T* y, std::int64_t count);

}  // namespace rondel::kernels
