#pragma once
#include "kernels/lanes.h"

#include <algorithm>
#include <bit>
#include <cstdint>

/// Interleaves rows of memory into vector lanes, and back. For code called by `with_vectors`.
namespace rondel::kernels {

/// Square tiles of elements that are transposed in registers; a row of a tile has 16 bytes. Two
/// tiles are transposed at once, in the halves of 32-byte vectors, because processors shuffle
/// fastest within 16-byte halves.
template <class T> struct Tile {
  static constexpr int extent = 16 / sizeof(T);
  typedef typename Lanes<T>::Integer Integer;
  typedef Integer Pair __attribute__((vector_size(32)));
  typedef Integer UnalignedPair __attribute__((vector_size(32), aligned(alignof(T)), may_alias));
  typedef Integer Half __attribute__((vector_size(16)));
  typedef Integer UnalignedHalf __attribute__((vector_size(16), aligned(alignof(T)), may_alias));
};

/// Transposes two tiles, whose rows are the halves of `rows`. Each round is a perfect shuffle of
/// all elements of a tile; log2(extent) rounds transpose the tile.
template <class T>
[[gnu::always_inline]] inline void transpose(typename Tile<T>::Pair (&rows)[Tile<T>::extent]) {
  constexpr int n = Tile<T>::extent;
  typename Tile<T>::Pair low{}, high{}, zipped[n];
#pragma GCC unroll 32
  for (int i = 0; i < 2 * n; ++i) {
    const int half = i / n * n;
    low[i] = static_cast<typename Tile<T>::Integer>(half + i % n / 2 + i % 2 * 2 * n);
    high[i] = static_cast<typename Tile<T>::Integer>(low[i] + n / 2);
  }
#pragma GCC unroll 4
  for (int round = 1; round < n; round *= 2) {
#pragma GCC unroll 8
    for (int k = 0; k < n / 2; ++k) {
      zipped[2 * k] = __builtin_shuffle(rows[k], rows[k + n / 2], low);
      zipped[2 * k + 1] = __builtin_shuffle(rows[k], rows[k + n / 2], high);
    }
#pragma GCC unroll 16
    for (int k = 0; k < n; ++k) rows[k] = zipped[k];
  }
}

template <class T>
[[gnu::always_inline]] inline void write_halves(const typename Tile<T>::Pair& pair, T* first,
                                                T* second) {
  struct Halves {
    typename Tile<T>::Half first, second;
  };
  const auto halves = std::bit_cast<Halves>(pair);
  *reinterpret_cast<typename Tile<T>::UnalignedHalf*>(first) = halves.first;
  *reinterpret_cast<typename Tile<T>::UnalignedHalf*>(second) = halves.second;
}

/// first(i)[k] = from(k)[i] and second(i)[k] = from(k)[i + n], for i and k below the extent n of a
/// tile.
template <class T, class From, class First, class Second>
[[gnu::always_inline]] inline void transpose_tiles(const From& from, const First& first,
                                                   const Second& second) {
  constexpr int n = Tile<T>::extent;
  typename Tile<T>::Pair rows[n];
#pragma GCC unroll 16
  for (int k = 0; k < n; ++k)
    rows[k] = *reinterpret_cast<const typename Tile<T>::UnalignedPair*>(from(k));
  transpose<T>(rows);
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
  constexpr std::int64_t lanes = Lanes<T>::count, extent = Tile<T>::extent;
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
  constexpr std::int64_t lanes = Lanes<T>::count, extent = Tile<T>::extent;
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
