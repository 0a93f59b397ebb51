#include "kernels/product_tile.h"

#include "kernels/lanes.h"
#include "kernels/vectors.h"

namespace rondel::kernels {
namespace {

using Vector = Lanes<float>::Vector;
constexpr std::int64_t lanes = Lanes<float>::count;

/// `rows` by `vectors * lanes` sums, which stay in registers.
template <std::int64_t rows, std::int64_t vectors>
[[gnu::always_inline]] inline void multiply_tile(const ProductRows& a, std::int64_t first,
                                                 const float* panel, const std::int64_t* offsets,
                                                 std::int64_t depth, float* y,
                                                 std::int64_t y_step) {
  Vector sums[rows][vectors];
#pragma GCC unroll 16
  for (std::int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (std::int64_t v = 0; v < vectors; ++v)
      sums[r][v] = a.start != nullptr ? a.start[first + r] + Vector{}
                                      : load(y + (first + r) * y_step + v * lanes);
  const float* row = a.first + first * a.step;
  for (std::int64_t k = 0; k < depth; ++k) {
    const float* from = panel + offsets[k];
    Vector b[vectors];
#pragma GCC unroll 2
    for (std::int64_t v = 0; v < vectors; ++v) b[v] = load(from + v * lanes);
#pragma GCC unroll 16
    for (std::int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (std::int64_t v = 0; v < vectors; ++v) sums[r][v] += row[r * a.step + k] * b[v];
  }
#pragma GCC unroll 16
  for (std::int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (std::int64_t v = 0; v < vectors; ++v)
      store(y + (first + r) * y_step + v * lanes, sums[r][v]);
}

/// All rows by `vectors * lanes` columns, as many rows at once as there are registers for.
template <std::int64_t most_rows, std::int64_t vectors>
[[gnu::always_inline]] inline void multiply_columns(const ProductRows& a, const float* panel,
                                                    const std::int64_t* offsets, std::int64_t depth,
                                                    float* y, std::int64_t y_step) {
  std::int64_t r = 0;
  for (; r + most_rows <= a.count; r += most_rows)
    multiply_tile<most_rows, vectors>(a, r, panel, offsets, depth, y, y_step);
  for (; r + 4 <= a.count; r += 4)
    multiply_tile<4, vectors>(a, r, panel, offsets, depth, y, y_step);
  for (; r < a.count; ++r) multiply_tile<1, vectors>(a, r, panel, offsets, depth, y, y_step);
}

}  // namespace

void multiply_panel(const ProductRows& a, const float* panel, const std::int64_t* offsets,
                    std::int64_t depth, float* y, std::int64_t y_step) {
  const bool wide = vectors() == Vectors::avx512;
  with_vectors([&] {
    if (wide) return multiply_columns<12, 2>(a, panel, offsets, depth, y, y_step);
    multiply_columns<6, 1>(a, panel, offsets, depth, y, y_step);
    multiply_columns<6, 1>(a, panel + lanes, offsets, depth, y + lanes, y_step);
  });
}

void add_dots(const float* row, const float* columns, std::int64_t depth, float* y,
              std::int64_t count) {
  with_vectors([&] {
    for (std::int64_t j = 0; j < count; ++j, columns += depth) {
      constexpr std::int64_t unrolled = 4;
      Vector sums[unrolled] = {};
      std::int64_t k = 0;
      for (; k + unrolled * lanes <= depth; k += unrolled * lanes)
        for (std::int64_t u = 0; u < unrolled; ++u)
          sums[u] += load(row + k + u * lanes) * load(columns + k + u * lanes);
      for (; k + lanes <= depth; k += lanes) sums[0] += load(row + k) * load(columns + k);
      const Vector all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
      float sum = 0;
      for (std::int64_t l = 0; l < lanes; ++l) sum += all[l];
      for (; k < depth; ++k) sum += row[k] * columns[k];
      y[j] += sum;
    }
  });
}

}  // namespace rondel::kernels
