#include "kernels/product_tile.h"

#include "kernels/lanes.h"
#include "kernels/vectors.h"

namespace rondel::kernels {
namespace {

/// A tile of `rows` by `vectors` vectors of sums, kept in registers.
template <int bytes, std::int64_t rows, std::int64_t vectors>
[[gnu::always_inline]] inline void multiply_tile(const ProductRows& a, std::int64_t first,
                                                 const float* panel, const std::int64_t* offsets,
                                                 std::int64_t depth, float* y,
                                                 std::int64_t y_step) {
  constexpr std::int64_t lanes = Lanes<float, bytes>::count;
  using Vector = typename Lanes<float, bytes>::Vector;
  Vector sums[rows][vectors];
#pragma GCC unroll 16
  for (std::int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (std::int64_t v = 0; v < vectors; ++v)
      sums[r][v] = a.start != nullptr ? a.start[first + r] + Vector{}
                                      : load<float, bytes>(y + (first + r) * y_step + v * lanes);
  const float* row = a.first + first * a.step;
  for (std::int64_t k = 0; k < depth; ++k) {
    const float* from = panel + offsets[k];
    Vector b[vectors];
#pragma GCC unroll 2
    for (std::int64_t v = 0; v < vectors; ++v) b[v] = load<float, bytes>(from + v * lanes);
#pragma GCC unroll 16
    for (std::int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (std::int64_t v = 0; v < vectors; ++v) sums[r][v] += row[r * a.step + k] * b[v];
  }
#pragma GCC unroll 16
  for (std::int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (std::int64_t v = 0; v < vectors; ++v)
      store<float, bytes>(y + (first + r) * y_step + v * lanes, sums[r][v]);
}

/// Multiplies all rows by all columns of the panel, at most `most_rows` rows at once.
template <int bytes, std::int64_t most_rows, std::int64_t vectors>
[[gnu::always_inline]] inline void multiply_columns(const ProductRows& a, const float* panel,
                                                    const std::int64_t* offsets, std::int64_t depth,
                                                    float* y, std::int64_t y_step) {
  constexpr std::int64_t columns = vectors * Lanes<float, bytes>::count;
  for (std::int64_t j = 0; j < panel_columns; j += columns, panel += columns, y += columns) {
    std::int64_t r = 0;
    for (; r + most_rows <= a.count; r += most_rows)
      multiply_tile<bytes, most_rows, vectors>(a, r, panel, offsets, depth, y, y_step);
    for (; r + 4 <= a.count; r += 4)
      multiply_tile<bytes, 4, vectors>(a, r, panel, offsets, depth, y, y_step);
    for (; r < a.count; ++r)
      multiply_tile<bytes, 1, vectors>(a, r, panel, offsets, depth, y, y_step);
  }
}

/// The sum over k < depth of a[k] * b[k]. The terms with equal k modulo 64 are summed first, then
/// these sums: the order is the same for all vector sizes.
template <int bytes>
[[gnu::always_inline]] inline float dot(const float* a, const float* b, std::int64_t depth) {
  constexpr std::int64_t lanes = Lanes<float, bytes>::count, chains = 4, chain = 16 / lanes;
  typename Lanes<float, bytes>::Vector sums[chains * chain] = {};
  std::int64_t k = 0;
  for (; k + chains * 16 <= depth; k += chains * 16)
#pragma GCC unroll 16
    for (std::int64_t v = 0; v < chains * chain; ++v)
      sums[v] += load<float, bytes>(a + k + v * lanes) * load<float, bytes>(b + k + v * lanes);
  for (; k + 16 <= depth; k += 16)
#pragma GCC unroll 4
    for (std::int64_t v = 0; v < chain; ++v)
      sums[v] += load<float, bytes>(a + k + v * lanes) * load<float, bytes>(b + k + v * lanes);
  float sum = 0;
#pragma GCC unroll 4
  for (std::int64_t v = 0; v < chain; ++v) {
    const auto all = (sums[v] + sums[v + chain]) + (sums[v + 2 * chain] + sums[v + 3 * chain]);
    for (std::int64_t l = 0; l < lanes; ++l) sum += all[l];
  }
  for (; k < depth; ++k) sum += a[k] * b[k];
  return sum;
}

}  // namespace

void multiply_panel(const ProductRows& a, const float* panel, const std::int64_t* offsets,
                    std::int64_t depth, float* y, std::int64_t y_step) {
  with_registers([&](auto bytes) {
    // A processor has 32 registers of 64 bytes, but only 16 smaller ones.
    constexpr std::int64_t most_rows = bytes() == 64 ? 12 : 6;
    multiply_columns<bytes(), most_rows, 2>(a, panel, offsets, depth, y, y_step);
  });
}

void add_dots(const float* row, const float* columns, std::int64_t depth, float* y,
              std::int64_t count) {
  with_registers([&](auto bytes) {
    for (std::int64_t j = 0; j < count; ++j, columns += depth)
      y[j] += dot<bytes()>(row, columns, depth);
  });
}

}  // namespace rondel::kernels
