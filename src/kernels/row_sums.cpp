#include "kernels/row_sums.h"

#include "kernels/multiply_add.h"

#include <algorithm>

namespace rondel::kernels {
namespace {

/// Sums that are computed at once, so that no addition waits for the one before it.
constexpr std::int64_t most_sums = 8;

/// `rows` by `vectors` vectors of sums, kept in registers. The last vector of a row ends with
/// column `columns`, and may overlap the one before it.
template <class M, std::int64_t rows, std::int64_t vectors>
[[gnu::always_inline]] inline void sum_tile(const RowSums<Element<M>>& s, const Element<M>* x,
                                            Element<M>* y, std::int64_t columns) {
  using T = Element<M>;
  constexpr std::int64_t lanes = M::lanes;
  using Vector = typename M::Vector;
  const auto at = [=](std::int64_t v) { return v + 1 < vectors ? v * lanes : columns - lanes; };
  Vector sums[rows][vectors];
#pragma GCC unroll 8
  for (std::int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < vectors; ++v) M::fill(sums[r][v], s.start);
  for (std::int64_t k = 0; k < s.count; ++k) {
    const T weight = s.weights[k];
    const T* from = x + s.offsets[k];
#pragma GCC unroll 8
    for (std::int64_t r = 0; r < rows; ++r, from += s.x_step)
#pragma GCC unroll 8
      for (std::int64_t v = 0; v < vectors; ++v) {
        const Vector b = load<T, M::bytes>(from + at(v));
        M::add(sums[r][v], weight, b);
      }
  }
#pragma GCC unroll 8
  for (std::int64_t r = 0; r < rows; ++r, y += s.y_step)
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < vectors; ++v) store<T, M::bytes>(y + at(v), sums[r][v]);
}

/// Columns [from, from + columns) of all rows, in `vectors` vectors.
template <class M, std::int64_t vectors>
[[gnu::always_inline]] inline void sum_columns(const RowSums<Element<M>>& s, std::int64_t from,
                                               std::int64_t columns) {
  using T = Element<M>;
  constexpr std::int64_t together = most_sums / vectors;
  const T* x = s.x + from;
  T* y = s.y + from;
  std::int64_t r = 0;
  for (; r + together <= s.rows; r += together)
    sum_tile<M, together, vectors>(s, x + r * s.x_step, y + r * s.y_step, columns);
  for (; r < s.rows; ++r) sum_tile<M, 1, vectors>(s, x + r * s.x_step, y + r * s.y_step, columns);
}

template <class M> [[gnu::always_inline]] inline void sum_all(const RowSums<Element<M>>& s) {
  constexpr std::int64_t lanes = M::lanes;
  std::int64_t from = 0;
  for (; s.columns - from > most_sums * lanes; from += most_sums * lanes)
    sum_columns<M, most_sums>(s, from, most_sums * lanes);
  const std::int64_t left = std::max(s.columns - from, lanes);
  from = s.columns - left;
  switch ((left + lanes - 1) / lanes) {
    case 1: return sum_columns<M, 1>(s, from, left);
    case 2: return sum_columns<M, 2>(s, from, left);
    case 3: return sum_columns<M, 3>(s, from, left);
    case 4: return sum_columns<M, 4>(s, from, left);
    case 5: return sum_columns<M, 5>(s, from, left);
    case 6: return sum_columns<M, 6>(s, from, left);
    case 7: return sum_columns<M, 7>(s, from, left);
    default: return sum_columns<M, 8>(s, from, left);
  }
}

}  // namespace

template <class T> void sum_rows(const RowSums<T>& s) {
  with_multiply_add<T>([=](auto m) { sum_all<decltype(m)>(s); });
}

template void sum_rows(const RowSums<float>&);
template void sum_rows(const RowSums<double>&);
template void sum_rows(const RowSums<Quad>&);

}  // namespace rondel::kernels
