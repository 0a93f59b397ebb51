#pragma once
#include "kernels/lanes.h"

#include <algorithm>
#include <cstdint>

/// Rows of memory that become lanes of vectors, and back: for code below `with_vectors`.
namespace rondel::kernels {

/// Squares of elements that are turned at once: as many elements as 16 bytes hold, each way.
template <class T> struct Tile {
  static constexpr int extent = 16 / sizeof(T);
  typedef typename Lanes<T>::Integer Integer;
  typedef Integer Row __attribute__((vector_size(16)));
  typedef Integer Unaligned __attribute__((vector_size(16), aligned(alignof(T)), may_alias));
};

/// to(i)[k] = from(k)[i], for i and k below the extent of a tile.
template <class T, class From, class To>
[[gnu::always_inline]] inline void turn_tile(const From& from, const To& to) {
  constexpr int n = Tile<T>::extent;
  using Row = typename Tile<T>::Row;
  using Unaligned = typename Tile<T>::Unaligned;
  Row low{}, high{};
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) {
    low[i] = static_cast<typename Tile<T>::Integer>(i / 2 + i % 2 * n);
    high[i] = static_cast<typename Tile<T>::Integer>(low[i] + n / 2);
  }
  Row rows[n], zipped[n];
#pragma GCC unroll 16
  for (int k = 0; k < n; ++k) rows[k] = *reinterpret_cast<const Unaligned*>(from(k));
    // Each round is a perfect shuffle of all the elements; log2 n of them turn the tile.
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
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) *reinterpret_cast<Unaligned*>(to(i)) = rows[i];
}

/// Calls turn(l) for each group of lanes that a tile has, and what that gives with i, for tiles
/// that cover elements [from, to) of n >= a tile's extent: a cache line of each row after another.
/// The last tile ends with the row.
template <class T, class F>
[[gnu::always_inline]] inline void each_tile(std::int64_t from, std::int64_t to, std::int64_t n,
                                             const F& turn) {
  constexpr std::int64_t extent = Tile<T>::extent, lanes = Lanes<T>::count;
  for (std::int64_t line = from; line < to; line += lanes)
    for (std::int64_t l = 0; l < lanes; l += extent) {
      const auto tile = turn(l);
      if (line + lanes <= n)
#pragma GCC unroll 4
        for (std::int64_t i = 0; i < lanes; i += extent) tile(line + i);
      else
        for (std::int64_t i = line; i < to; i += extent) tile(std::min(i, n - extent));
    }
}

/// The rows of a group of lanes.
template <class Row, int count> struct Rows {
  [[gnu::always_inline]] explicit Rows(Row* const* rows) {
    for (int k = 0; k < count; ++k) at[k] = rows[k];
  }
  Row* at[count];
};

/// to[i * lanes + l] = rows[l][i] for i in [from, end) of n.
template <class T>
[[gnu::always_inline]] inline void interleave(const T* const* rows, std::int64_t from,
                                              std::int64_t end, std::int64_t n, T* to) {
  constexpr std::int64_t lanes = Lanes<T>::count;
  if (n < Tile<T>::extent) {
    for (std::int64_t l = 0; l < lanes; ++l)
      for (std::int64_t i = from; i < end; ++i) to[i * lanes + l] = rows[l][i];
    return;
  }
  each_tile<T>(from, end, n, [&](std::int64_t l) {
    return [=, some = Rows<const T, Tile<T>::extent>(rows + l)](std::int64_t i) {
      turn_tile<T>([&](int k) { return some.at[k] + i; },
                   [&](int k) { return to + (i + k) * lanes + l; });
    };
  });
}

/// rows[l][i] = from[i * lanes + l] for i in [first, end) of n.
template <class T>
[[gnu::always_inline]] inline void deinterleave(const T* from, std::int64_t first, std::int64_t end,
                                                std::int64_t n, T* const* rows) {
  constexpr std::int64_t lanes = Lanes<T>::count;
  if (n < Tile<T>::extent) {
    for (std::int64_t l = 0; l < lanes; ++l)
      for (std::int64_t i = first; i < end; ++i) rows[l][i] = from[i * lanes + l];
    return;
  }
  each_tile<T>(first, end, n, [&](std::int64_t l) {
    return [=, some = Rows<T, Tile<T>::extent>(rows + l)](std::int64_t i) {
      turn_tile<T>([&](int k) { return from + (i + k) * lanes + l; },
                   [&](int k) { return some.at[k] + i; });
    };
  });
}

}  // namespace rondel::kernels
