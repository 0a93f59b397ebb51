#include "kernels/product_tile.h"

#include "kernels/lanes.h"
#include "kernels/vectors.h"

namespace rondel::kernels {
namespace {

/// A tile of `rows` by `vectors` vectors of sums, kept in registers.
template <class T, int bytes, std::int64_t rows, std::int64_t vectors>
[[gnu::always_inline]] inline void multiply_tile(const ProductRows<T>& a, std::int64_t first,
                                                 const T* panel, const std::int64_t* offsets,
                                                 std::int64_t depth, T* y, std::int64_t y_step) {
  constexpr std::int64_t lanes = Lanes<T, bytes>::count;
  using Vector = typename Lanes<T, bytes>::Vector;
  Vector sums[rows][vectors];
#pragma GCC unroll 16
  for (std::int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (std::int64_t v = 0; v < vectors; ++v)
      sums[r][v] = a.start != nullptr ? a.start[first + r] + Vector{}
                                      : load<T, bytes>(y + (first + r) * y_step + v * lanes);
  const T* row = a.first + first * a.step;
  for (std::int64_t k = 0; k < depth; ++k) {
    const T* from = panel + offsets[k];
    Vector b[vectors];
#pragma GCC unroll 2
    for (std::int64_t v = 0; v < vectors; ++v) b[v] = load<T, bytes>(from + v * lanes);
#pragma GCC unroll 16
    for (std::int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (std::int64_t v = 0; v < vectors; ++v) sums[r][v] += row[r * a.step + k] * b[v];
  }
#pragma GCC unroll 16
  for (std::int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (std::int64_t v = 0; v < vectors; ++v)
      store<T, bytes>(y + (first + r) * y_step + v * lanes, sums[r][v]);
}

/// Multiplies all rows by all columns of the panel, at most `most_rows` rows at once.
template <class T, int bytes, std::int64_t most_rows, std::int64_t vectors>
[[gnu::always_inline]] inline void multiply_columns(const ProductRows<T>& a, const T* panel,
                                                    const std::int64_t* offsets, std::int64_t depth,
                                                    T* y, std::int64_t y_step) {
  constexpr std::int64_t columns = vectors * Lanes<T, bytes>::count;
  for (std::int64_t j = 0; j < panel_columns; j += columns, panel += columns, y += columns) {
    std::int64_t r = 0;
    for (; r + most_rows <= a.count; r += most_rows)
      multiply_tile<T, bytes, most_rows, vectors>(a, r, panel, offsets, depth, y, y_step);
    for (; r + 4 <= a.count; r += 4)
      multiply_tile<T, bytes, 4, vectors>(a, r, panel, offsets, depth, y, y_step);
    for (; r < a.count; ++r)
      multiply_tile<T, bytes, 1, vectors>(a, r, panel, offsets, depth, y, y_step);
  }
}

/// The sum over k < depth of a[k] * b[k]. The terms with equal k modulo 4 * 64 bytes are summed
/// first, then these sums: the order is the same for all vector sizes.
template <class T, int bytes>
[[gnu::always_inline]] inline T dot(const T* a, const T* b, std::int64_t depth) {
  constexpr std::int64_t lanes = Lanes<T, bytes>::count, whole = Lanes<T, 64>::count;
  constexpr std::int64_t chains = 4, chain = whole / lanes;
  typename Lanes<T, bytes>::Vector sums[chains * chain] = {};
  std::int64_t k = 0;
  for (; k + chains * whole <= depth; k += chains * whole)
#pragma GCC unroll 16
    for (std::int64_t v = 0; v < chains * chain; ++v)
      sums[v] += load<T, bytes>(a + k + v * lanes) * load<T, bytes>(b + k + v * lanes);
  for (; k + whole <= depth; k += whole)
#pragma GCC unroll 4
    for (std::int64_t v = 0; v < chain; ++v)
      sums[v] += load<T, bytes>(a + k + v * lanes) * load<T, bytes>(b + k + v * lanes);
  T sum = 0;
#pragma GCC unroll 4
  for (std::int64_t v = 0; v < chain; ++v) {
    const auto all = (sums[v] + sums[v + chain]) + (sums[v + 2 * chain] + sums[v + 3 * chain]);
    for (std::int64_t l = 0; l < lanes; ++l) sum += all[l];
  }
  for (; k < depth; ++k) sum += a[k] * b[k];
  return sum;
}

}  // namespace

template <class T>
void multiply_panel(const ProductRows<T>& a, const T* panel, const std::int64_t* offsets,
                    std::int64_t depth, T* y, std::int64_t y_step) {
  with_registers([&](auto bytes) {
    // A processor has 32 registers of 64 bytes, but only 16 smaller ones.
    constexpr std::int64_t most_rows = bytes() == 64 ? 12 : 6;
    multiply_columns<T, bytes(), most_rows, 2>(a, panel, offsets, depth, y, y_step);
  });
}

template <class T>
void add_dots(const T* row, const T* columns, std::int64_t depth, T* y, std::int64_t count) {
  with_registers([&](auto bytes) {
    for (std::int64_t j = 0; j < count; ++j, columns += depth)
      y[j] += dot<T, bytes()>(row, columns, depth);
  });
}

template void multiply_panel(const ProductRows<float>&, const float*, const std::int64_t*,
                             std::int64_t, float*, std::int64_t);
template void multiply_panel(const ProductRows<double>&, const double*, const std::int64_t*,
                             std::int64_t, double*, std::int64_t);
template void add_dots(const float*, const float*, std::int64_t, float*, std::int64_t);
template void add_dots(const double*, const double*, std::int64_t, double*, std::int64_t);

}  // namespace rondel::kernels
