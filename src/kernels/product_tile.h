#pragma once
#include "kernels/quad.h"
#include "kernels/vectors.h"

#include <cstdint>
#include <span>

namespace rondel::kernels {

// T is float or double; or Quad, where the products are dot products: elements of rows are of i8,
// elements of panels and columns of u8, and sums are integers.

/// The number of columns of a panel: the elements of two vector registers.
template <class T> std::int64_t panel_columns() {
  return 2 * register_bytes() / std::int64_t{sizeof(T)};
}
constexpr std::int64_t most_panel_columns = 32;
/// Rows of a panel of `panel_columns` columns that fills 16 KiB, half of a first-level cache.
inline std::int64_t panel_depth() { return 8192 / register_bytes(); }
/// The most rows that one call multiplies by a panel.
constexpr std::int64_t most_tile_rows = 48;

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

/// Neighbouring elements of each row of a panel, and where they come from.
struct RowPart {
  std::int64_t from, to, count;
};

/// to[k * panel_columns + part.to + i] = x[offsets[k] + part.from + i], for k < depth, all parts,
/// and i < part.count. Parts ascend. If `has_room`, elements of x after those of a part may be
/// read, and elements of `to` after those of a part written: fewer than `panel_columns`.
template <class T>
void pack_panel(const T* x, const std::int64_t* offsets, std::int64_t depth,
                std::span<const RowPart> parts, bool has_room, T* to);

/// y[r, j] += the sum over k < depth of rows[r, k] * columns[j, k], for j < count; `columns` and
/// `y` are row-major. The terms with equal k modulo 16 (f64: 8) are summed first, then these sums:
/// the same order for all rows and columns.
template <class T>
void add_dots(const ProductRows<T>&, const T* columns, std::int64_t depth, T* y,
              std::int64_t count);
/// Rows that one call should multiply, at most.
constexpr std::int64_t most_dot_rows = 4;

}  // namespace rondel::kernels
