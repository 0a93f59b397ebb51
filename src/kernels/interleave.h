#pragma once
#include "base/tile.h"
#include "kernels/lanes.h"

#include <algorithm>
#include <bit>
#include <cstdint>

/// Interleaves rows of memory into vector lanes, and back. For code called by `with_vectors`.
namespace rondel::kernels {

/// Two tiles, whose rows are the halves of vectors: processors shuffle fastest within 16 bytes.
template <class T> using TwoTiles = Tile<T, 32>;

template <class T>
[[gnu::always_inline]] inline void write_halves(const typename TwoTiles<T>::Row& pair, T* first,
                                                T* second) {
  struct Halves {
    typename Tile<T, 16>::Row first, second;
  };
  const auto halves = std::bit_cast<Halves>(pair);
  *reinterpret_cast<typename Tile<T, 16>::UnalignedRow*>(first) = halves.first;
  *reinterpret_cast<typename Tile<T, 16>::UnalignedRow*>(second) = halves.second;
}

/// first(i)[k] = from(k)[i] and second(i)[k] = from(k)[i + n], for i and k below the extent n of a
/// tile.
template <class T, class From, class First, class Second>
[[gnu::always_inline]] inline void transpose_tiles(const From& from, const First& first,
                                                   const Second& second) {
  constexpr int n = TwoTiles<T>::extent;
  typename TwoTiles<T>::Row rows[n];
#pragma GCC unroll 16
  for (int k = 0; k < n; ++k)
    rows[k] = *reinterpret_cast<const typename TwoTiles<T>::UnalignedRow*>(from(k));
  transpose<T, 32>(rows);
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) write_halves<T>(rows[i], first(i), second(i));
}

/// The row pointers of a group of lanes.
template <class Row, int count> struct Rows {
  [[gnu::always_inline]] explicit Rows(Row* const* rows) {
    for (int k = 0; k < count; ++k) at[k] = rows[k];
  }
  Row* at[count];
};

/// Calls tile(rows, first lane, i) for tiles of `height` rows and `width` elements, beginning at
/// element i, that cover elements [from, to) of rows of n >= width elements. The order is cache
/// line by cache line of each row. The last tiles end with the row and may overlap those before.
template <int height, int width, class T, class F>
[[gnu::always_inline]] inline void each_tile(T* const* rows, std::int64_t from, std::int64_t to,
                                             std::int64_t n, const F& tile) {
  constexpr std::int64_t lanes = Lanes<std::remove_const_t<T>>::count;
  for (std::int64_t line = from; line < to; line += lanes)
    for (std::int64_t l = 0; l < lanes; l += height) {
      const Rows<T, height> some(rows + l);
      if (line + lanes <= n)
#pragma GCC unroll 4
        for (std::int64_t i = 0; i < lanes; i += width) tile(some, l, line + i);
      else
        for (std::int64_t i = line; i < to; i += width)
          tile(some, l, std::min<std::int64_t>(i, n - width));
    }
}

/// to[i * lanes + l] = rows[l][i] for i in [from, end) of n.
template <class T>
[[gnu::always_inline]] inline void interleave(const T* const* rows, std::int64_t from,
                                              std::int64_t end, std::int64_t n, T* to) {
  constexpr std::int64_t lanes = Lanes<T>::count, extent = TwoTiles<T>::extent;
  if (n < 2 * extent) {
    for (std::int64_t l = 0; l < lanes; ++l)
      for (std::int64_t i = from; i < end; ++i) to[i * lanes + l] = rows[l][i];
    return;
  }
  each_tile<extent, 2 * extent>(
      rows, from, end, n, [&](const auto& some, std::int64_t l, std::int64_t i) {
        transpose_tiles<T>([&](int k) { return some.at[k] + i; },
                           [&](int k) { return to + (i + k) * lanes + l; },
                           [&](int k) { return to + (i + extent + k) * lanes + l; });
      });
}

/// rows[l][i] = from[i * lanes + l] for i in [first, end) of n.
template <class T>
[[gnu::always_inline]] inline void deinterleave(const T* from, std::int64_t first, std::int64_t end,
                                                std::int64_t n, T* const* rows) {
  constexpr std::int64_t lanes = Lanes<T>::count, extent = TwoTiles<T>::extent;
  if (n < extent) {
    for (std::int64_t l = 0; l < lanes; ++l)
      for (std::int64_t i = first; i < end; ++i) rows[l][i] = from[i * lanes + l];
    return;
  }
  each_tile<2 * extent, extent>(
      rows, first, end, n, [&](const auto& some, std::int64_t l, std::int64_t i) {
        transpose_tiles<T>([&](int k) { return from + (i + k) * lanes + l; },
                           [&](int k) { return some.at[k] + i; },
                           [&](int k) { return some.at[extent + k] + i; });
      });
}

}  // namespace rondel::kernels
