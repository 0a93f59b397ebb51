#include "kernels/product_tile.h"

#include "kernels/multiply_add.h"

#include <algorithm>

namespace rondel::kernels {
namespace {

template <std::int64_t rows> using Rows = std::integral_constant<std::int64_t, rows>;

/// A tile of `rows` by `vectors` vectors of sums, kept in registers.
template <class M, std::int64_t rows, std::int64_t vectors>
[[gnu::always_inline]] inline void multiply_tile(const ProductRows<Element<M>>& a,
                                                 std::int64_t first, const Element<M>* panel,
                                                 const std::int64_t* offsets, std::int64_t depth,
                                                 Element<M>* y, std::int64_t y_step) {
  using T = Element<M>;
  using Vector = typename M::Vector;
  constexpr std::int64_t lanes = M::lanes;
  Vector sums[rows][vectors];
#pragma GCC unroll 16
  for (std::int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (std::int64_t v = 0; v < vectors; ++v)
      if (a.start != nullptr) M::fill(sums[r][v], a.start[first + r]);
      else sums[r][v] = load<T, M::bytes>(y + (first + r) * y_step + v * lanes);
  const T* row = a.first + first * a.step;
  for (std::int64_t k = 0; k < depth; ++k) {
    const T* from = panel + offsets[k];
    Vector b[vectors];
#pragma GCC unroll 2
    for (std::int64_t v = 0; v < vectors; ++v) b[v] = load<T, M::bytes>(from + v * lanes);
#pragma GCC unroll 16
    for (std::int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (std::int64_t v = 0; v < vectors; ++v) M::add(sums[r][v], row[r * a.step + k], b[v]);
  }
#pragma GCC unroll 16
  for (std::int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (std::int64_t v = 0; v < vectors; ++v)
      store<T, M::bytes>(y + (first + r) * y_step + v * lanes, sums[r][v]);
}

/// Multiplies all rows by a panel, at most `most_rows` at once. Few rows take as long as four,
/// because each addition waits for the one before it; so the last rows are divided evenly.
template <class M, std::int64_t most_rows>
[[gnu::always_inline]] inline void multiply_rows(const ProductRows<Element<M>>& a,
                                                 const Element<M>* panel,
                                                 const std::int64_t* offsets, std::int64_t depth,
                                                 Element<M>* y, std::int64_t y_step) {
  std::int64_t r = 0;
  const auto tile = [&](auto rows) __attribute__((always_inline)) {
    multiply_tile<M, rows(), 2>(a, r, panel, offsets, depth, y, y_step);
    r += rows();
  };
  for (std::int64_t left = a.count; left > 0; left = a.count - r) {
    if (left == most_rows || left >= most_rows + 3) tile(Rows<most_rows>());
    else if (left == 6 || left >= 9) tile(Rows<6>());
    else if (left == 5) tile(Rows<5>());
    else if (left >= 4) tile(Rows<4>());
    else if (left == 3) tile(Rows<3>());
    else if (left == 2) tile(Rows<2>());
    else tile(Rows<1>());
  }
}

template <class T, int bytes> [[gnu::always_inline]] inline void copy_vector(const T* from, T* to) {
  const typename Lanes<T, bytes>::Vector v = load<T, bytes>(from);
  store<T, bytes>(to, v);
}

/// `pack_panel` with `has_room`.
template <class T, int bytes>
[[gnu::always_inline]] inline void pack_vectors(const T* x, const std::int64_t* offsets,
                                                std::int64_t depth, std::span<const RowPart> parts,
                                                T* to) {
  constexpr std::int64_t lanes = Lanes<T, bytes>::count, columns = 2 * lanes;
  if (parts.size() == 1 && parts[0].count > lanes) {
    x += parts[0].from;
    for (std::int64_t k = 0; k < depth; ++k, to += columns) {
      copy_vector<T, bytes>(x + offsets[k], to);
      copy_vector<T, bytes>(x + offsets[k] + lanes, to + lanes);
    }
    return;
  }
  for (std::int64_t k = 0; k < depth; ++k, to += columns)
    for (const RowPart& part : parts) {
      const T* from = x + offsets[k] + part.from;
      copy_vector<T, bytes>(from, to + part.to);
      if (part.count > lanes) copy_vector<T, bytes>(from + lanes, to + part.to + lanes);
    }
}

/// A vector plus its lanes moved down by `half`, round the end; then by half of that, and so on.
template <class M, std::int64_t half>
[[gnu::always_inline]] inline typename M::Vector fold(typename M::Vector v) {
  using Indices = Lanes<Element<M>, M::bytes>;
  if constexpr (half > 0) {
    typename Indices::Mask moved{};
#pragma GCC unroll 16
    for (std::int64_t l = 0; l < M::lanes; ++l)
      moved[l] = static_cast<typename Indices::Integer>((l + half) % M::lanes);
    return fold<M, half / 2>(v + __builtin_shuffle(v, moved));
  }
  return v;
}

/// The sum of the lanes of 64 bytes of vectors: halves are added until one lane is left.
template <class M>
[[gnu::always_inline]] inline Element<M> sum_of_lanes(const typename M::Vector* vectors) {
  typename M::Vector all = vectors[0];
  if constexpr (M::bytes == 32) all += vectors[1];
  if constexpr (M::bytes == 16) all = (all + vectors[2]) + (vectors[1] + vectors[3]);
  return fold<M, M::lanes / 2>(all)[0];
}

/// `rows` by `columns` dot products, each in 64 bytes of lanes.
template <class M, std::int64_t rows, std::int64_t columns>
[[gnu::always_inline]] inline void dot_tile(const Element<M>* a, std::int64_t a_step,
                                            const Element<M>* b, std::int64_t depth, Element<M>* y,
                                            std::int64_t y_step) {
  using T = Element<M>;
  constexpr std::int64_t lanes = M::lanes, vectors = 64 / M::bytes;
  constexpr std::int64_t all = lanes * vectors;
  typename M::Vector sums[rows][columns][vectors] = {};
  std::int64_t k = 0;
  for (; k + all <= depth; k += all)
#pragma GCC unroll 4
    for (std::int64_t v = 0; v < vectors; ++v)
#pragma GCC unroll 4
      for (std::int64_t c = 0; c < columns; ++c) {
        const typename M::Vector of_b = load<T, M::bytes>(b + c * depth + k + v * lanes);
#pragma GCC unroll 4
        for (std::int64_t r = 0; r < rows; ++r) {
          const typename M::Vector of_a = load<T, M::bytes>(a + r * a_step + k + v * lanes);
          M::add(sums[r][c][v], of_a, of_b);
        }
      }
#pragma GCC unroll 4
  for (std::int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (std::int64_t c = 0; c < columns; ++c) {
      T sum = sum_of_lanes<M>(sums[r][c]);
      for (std::int64_t i = k; i < depth; ++i) M::add(sum, a[r * a_step + i], b[c * depth + i]);
      y[r * y_step + c] += sum;
    }
}

/// Some rows by all columns, `most_columns` at once.
template <class M, std::int64_t rows, std::int64_t most_columns>
[[gnu::always_inline]] inline void dot_rows(const ProductRows<Element<M>>& a, std::int64_t first,
                                            const Element<M>* b, std::int64_t depth, Element<M>* y,
                                            std::int64_t count) {
  const Element<M>* row = a.first + first * a.step;
  y += first * count;
  std::int64_t j = 0;
  for (; j + most_columns <= count; j += most_columns)
    dot_tile<M, rows, most_columns>(row, a.step, b + j * depth, depth, y + j, count);
  if (most_columns > 2 && j + 2 <= count) {
    dot_tile<M, rows, 2>(row, a.step, b + j * depth, depth, y + j, count);
    j += 2;
  }
  for (; j < count; ++j) dot_tile<M, rows, 1>(row, a.step, b + j * depth, depth, y + j, count);
}

}  // namespace

template <class T>
void multiply_panel(const ProductRows<T>& a, const T* panel, const std::int64_t* offsets,
                    std::int64_t depth, T* y, std::int64_t y_step) {
  with_multiply_add<T>([&](auto m) {
    using M = decltype(m);
    // A processor has 32 registers of 64 bytes, but only 16 smaller ones.
    constexpr std::int64_t most_rows = M::bytes == 64 ? 12 : 6;
    multiply_rows<M, most_rows>(a, panel, offsets, depth, y, y_step);
  });
}

template <class T>
void pack_panel(const T* x, const std::int64_t* offsets, std::int64_t depth,
                std::span<const RowPart> parts, bool has_room, T* to) {
  if (has_room)
    return with_registers(
        [&](auto bytes) { pack_vectors<T, bytes()>(x, offsets, depth, parts, to); });
  for (std::int64_t k = 0; k < depth; ++k, to += panel_columns<T>())
    for (const RowPart& part : parts)
      std::copy_n(x + offsets[k] + part.from, part.count, to + part.to);
}

template <class T>
void add_dots(const ProductRows<T>& a, const T* columns, std::int64_t depth, T* y,
              std::int64_t count) {
  with_multiply_add<T>([&](auto m) {
    using M = decltype(m);
    // The sums of a tile fill about three quarters of the registers.
    constexpr std::int64_t rows = M::bytes == 64 ? 4 : M::bytes == 32 ? 2 : 1;
    constexpr std::int64_t most_columns = M::bytes == 64 ? 4 : 3;
    std::int64_t r = 0;
    if (count == 1)
      for (; r + 4 <= a.count; r += 4) dot_rows<M, 4, 1>(a, r, columns, depth, y, count);
    for (; r + rows <= a.count; r += rows)
      dot_rows<M, rows, most_columns>(a, r, columns, depth, y, count);
    for (; r < a.count; ++r) dot_rows<M, 1, most_columns>(a, r, columns, depth, y, count);
  });
}

template void multiply_panel(const ProductRows<float>&, const float*, const std::int64_t*,
                             std::int64_t, float*, std::int64_t);
template void pack_panel(const float*, const std::int64_t*, std::int64_t, std::span<const RowPart>,
                         bool, float*);
template void add_dots(const ProductRows<float>&, const float*, std::int64_t, float*, std::int64_t);
template void multiply_panel(const ProductRows<double>&, const double*, const std::int64_t*,
                             std::int64_t, double*, std::int64_t);
template void pack_panel(const double*, const std::int64_t*, std::int64_t, std::span<const RowPart>,
                         bool, double*);
template void add_dots(const ProductRows<double>&, const double*, std::int64_t, double*,
                       std::int64_t);
template void multiply_panel(const ProductRows<Quad>&, const Quad*, const std::int64_t*,
                             std::int64_t, Quad*, std::int64_t);
template void pack_panel(const Quad*, const std::int64_t*, std::int64_t, std::span<const RowPart>,
                         bool, Quad*);
template void add_dots(const ProductRows<Quad>&, const Quad*, std::int64_t, Quad*, std::int64_t);

}  // namespace rondel::kernels
