#pragma once
#include <cstdint>
#include <type_traits>

namespace rondel {

/// Square tiles of elements that are transposed in registers; a row of a tile has 16 bytes. Vectors
/// of more bytes hold the rows of several tiles, one beside the other.
template <class T, int bytes> struct Tile {
  static constexpr int extent = 16 / sizeof(T);
  using Integer = std::conditional_t<
      sizeof(T) == 1, std::int8_t,
      std::conditional_t<sizeof(T) == 2, std::int16_t,
                         std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>>;
  typedef Integer Row __attribute__((vector_size(bytes)));
  typedef Integer UnalignedRow __attribute__((vector_size(bytes), aligned(alignof(T)), may_alias));
};

/// Transposes tiles. Each round is a perfect shuffle of all elements of a tile; log2(extent) rounds
/// transpose the tile.
template <class T, int bytes>
[[gnu::always_inline]] inline void transpose(
    typename Tile<T, bytes>::Row (&rows)[Tile<T, bytes>::extent]) {
  constexpr int n = Tile<T, bytes>::extent, lanes = bytes / static_cast<int>(sizeof(T));
  typename Tile<T, bytes>::Row low{}, high{}, zipped[n];
#pragma GCC unroll 32
  for (int i = 0; i < lanes; ++i) {
    const int tile = i / n * n;
    low[i] = static_cast<typename Tile<T, bytes>::Integer>(tile + i % n / 2 + i % 2 * lanes);
    high[i] = static_cast<typename Tile<T, bytes>::Integer>(low[i] + n / 2);
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

}  // namespace rondel
