#include "kernels/row_sums.h"

#include "kernels/lanes.h"
#include "kernels/vectors.h"

#include <algorithm>

namespace rondel::kernels {
namespace {

/// Sums that are computed at once, so that no addition waits for the one before it.
constexpr std::int64_t most_sums = 8;

/// `rows` by `vectors` vectors of sums, kept in registers. The last vector of a row ends with
/// column `columns`, and may overlap the one before it.
template <class T, int bytes, std::int64_t rows, std::int64_t vectors>
[[gnu::always_inline]] inline void sum_tile(const RowSums<T>& s, const T* x, T* y,
                                            std::int64_t columns) {
  constexpr std::int64_t lanes = Lanes<T, bytes>::count;
  using Vector = typename Lanes<T, bytes>::Vector;
  const auto at = [=](std::int64_t v) { return v + 1 < vectors ? v * lanes : columns - lanes; };
  Vector sums[rows][vectors];
#pragma GCC unroll 8
  for (std::int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < vectors; ++v) sums[r][v] = s.start + Vector{};
  for (std::int64_t k = 0; k < s.count; ++k) {
    const T weight = s.weights[k];
    const T* from = x + s.offsets[k];
#pragma GCC unroll 8
    for (std::int64_t r = 0; r < rows; ++r, from += s.x_step)
#pragma GCC unroll 8
      for (std::int64_t v = 0; v < vectors; ++v)
        sums[r][v] += weight * load<T, bytes>(from + at(v));
  }
#pragma GCC unroll 8
  for (std::int64_t r = 0; r < rows; ++r, y += s.y_step)
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < vectors; ++v) store<T, bytes>(y + at(v), sums[r][v]);
}

/// Columns [from, from + columns) of all rows, in `vectors` vectors.
template <class T, int bytes, std::int64_t vectors>
[[gnu::always_inline]] inline void sum_columns(const RowSums<T>& s, std::int64_t from,
                                               std::int64_t columns) {
  constexpr std::int64_t together = most_sums / vectors;
  const T* x = s.x + from;
  T* y = s.y + from;
  std::int64_t r = 0;
  for (; r + together <= s.rows; r += together)
    sum_tile<T, bytes, together, vectors>(s, x + r * s.x_step, y + r * s.y_step, columns);
  for (; r < s.rows; ++r)
    sum_tile<T, bytes, 1, vectors>(s, x + r * s.x_step, y + r * s.y_step, columns);
}

template <class T, int bytes> [[gnu::always_inline]] inline void sum_all(const RowSums<T>& s) {
  constexpr std::int64_t lanes = Lanes<T, bytes>::count;
  std::int64_t from = 0;
  for (; s.columns - from > most_sums * lanes; from += most_sums * lanes)
    sum_columns<T, bytes, most_sums>(s, from, most_sums * lanes);
  const std::int64_t left = std::max(s.columns - from, lanes);
  from = s.columns - left;
  switch ((left + lanes - 1) / lanes) {
    case 1: return sum_columns<T, bytes, 1>(s, from, left);
    case 2: return sum_columns<T, bytes, 2>(s, from, left);
    case 3: return sum_columns<T, bytes, 3>(s, from, left);
    case 4: return sum_columns<T, bytes, 4>(s, from, left);
    case 5: return sum_columns<T, bytes, 5>(s, from, left);
    case 6: return sum_columns<T, bytes, 6>(s, from, left);
    case 7: return sum_columns<T, bytes, 7>(s, from, left);
    default: return sum_columns<T, bytes, 8>(s, from, left);
  }
}

}  // namespace

template <class T> void sum_rows(const RowSums<T>& s) {
  with_registers([=](auto bytes) { sum_all<T, bytes()>(s); });
}

template void sum_rows(const RowSums<float>&);
template void sum_rows(const RowSums<double>&);

}  // namespace rondel::kernels
