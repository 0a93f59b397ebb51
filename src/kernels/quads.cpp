#include "kernels/quads.h"

#include "kernels/lanes.h"
#include "kernels/vectors.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace rondel::kernels {
namespace {

constexpr std::uint32_t signs = 0x80808080;

template <class T> std::int32_t sum(const T* x, std::int64_t count) {
  std::uint32_t all = 0;
  for (std::int64_t i = 0; i < count; ++i)
    all += static_cast<std::uint32_t>(static_cast<std::int32_t>(x[i]));
  return static_cast<std::int32_t>(all);
}

/// Four rows, of which any stands in for one that is missing; `present` are the bits of the others.
struct QuadBits {
  std::uint32_t present, changed;
};
using FourRows = std::array<const std::uint8_t*, 4>;

[[gnu::always_inline]] inline FourRows present_rows(FourRows rows) {
  for (const std::uint8_t*& row : rows)
    if (row == nullptr) row = rows[0];
  return rows;
}
[[gnu::always_inline]] inline QuadBits bits_of(const FourRows& rows, bool change_sign) {
  std::uint32_t present = 0;
  for (unsigned r = 0; r < 4; ++r)
    if (rows[r] != nullptr) present |= 0xFFU << (8 * r);
  return {present, change_sign ? signs & present : 0};
}

/// The elements of a and b in turns, from element `first` on.
template <class T, int first>
[[gnu::always_inline]] inline typename Lanes<T, 16>::Vector zipped(
    typename Lanes<T, 16>::Vector a, typename Lanes<T, 16>::Vector b) {
  constexpr int lanes = Lanes<T, 16>::count;
  typename Lanes<T, 16>::Mask from{};
#pragma GCC unroll 16
  for (int l = 0; l < lanes; ++l)
    from[l] = static_cast<typename Lanes<T, 16>::Integer>(first + l / 2 + l % 2 * lanes);
  return __builtin_shuffle(a, b, from);
}

/// Writes 8 quads to each of two places. Vectors of 16 bytes are fast enough, and every processor
/// has them.
[[gnu::always_inline]] inline void write_16_quads(const FourRows& rows, std::int64_t i,
                                                  QuadBits bits, Quad* first, Quad* last) {
  using Pairs = Lanes<std::uint16_t, 16>::Vector;
  using Quads = Lanes<std::uint32_t, 16>::Vector;
  Lanes<std::uint8_t, 16>::Vector row[4];
  for (std::size_t r = 0; r < 4; ++r) row[r] = load<std::uint8_t, 16>(rows[r] + i);
  const auto put = [&](const Pairs& pairs, Quad* to) __attribute__((always_inline)) {
    const Quads quads = (reinterpret_cast<Quads>(pairs) & bits.present) ^ bits.changed;
    store<Quad, 16>(to, reinterpret_cast<Lanes<Quad, 16>::Vector>(quads));
  };
  const auto write = [&](auto half, Quad* to) __attribute__((always_inline)) {
    const auto a = reinterpret_cast<Pairs>(zipped<std::uint8_t, half()>(row[0], row[1]));
    const auto b = reinterpret_cast<Pairs>(zipped<std::uint8_t, half()>(row[2], row[3]));
    put(zipped<std::uint16_t, 0>(a, b), to);
    put(zipped<std::uint16_t, 4>(a, b), to + 4);
  };
  write(std::integral_constant<int, 0>(), first);
  write(std::integral_constant<int, 8>(), last);
}

/// Writes quad i to at(i), for i < count. Eight quads from a multiple of 8 on have one place.
template <class Place>
[[gnu::always_inline]] inline void write_quads(const FourRows& rows, std::int64_t count,
                                               QuadBits bits, const Place& at) {
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16) write_16_quads(rows, i, bits, at(i), at(i + 8));
  for (; i < count; ++i) {
    const std::uint32_t all = std::uint32_t{rows[0][i]} | std::uint32_t{rows[1][i]} << 8 |
                              std::uint32_t{rows[2][i]} << 16 | std::uint32_t{rows[3][i]} << 24;
    *at(i) = static_cast<Quad>((all & bits.present) ^ bits.changed);
  }
}

}  // namespace

void quads_of_row(const std::uint8_t* row, std::int64_t count, bool change_sign, Quad* to) {
  const std::int64_t whole = count / 4, left = count % 4;
  std::memcpy(to, row, static_cast<std::size_t>(4 * whole));
  if (left != 0) {
    to[whole] = 0;
    std::memcpy(to + whole, row + 4 * whole, static_cast<std::size_t>(left));
  }
  if (!change_sign) return;
  with_vectors([=] {
    for (std::int64_t i = 0; i < whole; ++i) to[i] ^= static_cast<Quad>(signs);
  });
  if (left != 0) to[whole] ^= static_cast<Quad>(signs >> (32 - 8 * left));
}

void quads_of_rows(const std::array<const std::uint8_t*, 4>& rows, std::int64_t count,
                   bool change_sign, Quad* to) {
  const QuadBits bits = bits_of(rows, change_sign);
  with_vectors([=, r = present_rows(rows)] {
    write_quads(r, count, bits, [=](std::int64_t i) { return to + i; });
  });
}

void quads_of_columns(const std::uint8_t* x, std::int64_t step, std::int64_t depth,
                      std::int64_t columns, std::int64_t width, bool change_sign, Quad* to) {
  const std::int64_t quads = quads_of(depth), last = columns / width * width;
  if (last < columns) std::fill_n(to + last * quads, quads * width, 0);
  const int shift = std::countr_zero(static_cast<std::uint64_t>(width));
  with_vectors([=] {
    for (std::int64_t q = 0; q < quads; ++q) {
      FourRows rows{};
      for (std::int64_t k = 4 * q; k < std::min(4 * q + 4, depth); ++k)
        rows[static_cast<std::size_t>(k % 4)] = x + k * step;
      write_quads(present_rows(rows), columns, bits_of(rows, change_sign), [=](std::int64_t i) {
        return to + ((((i >> shift) * quads + q) << shift) | (i & (width - 1)));
      });
    }
  });
}

void quads_of_ones(std::int64_t count, Quad* to) {
  std::fill_n(to, count / 4, quad_of(1));
  if (count % 4 != 0) to[count / 4] = static_cast<Quad>(0x01010101U >> (32 - 8 * (count % 4)));
}

std::int32_t sum_of(Bytes x, std::int64_t count) {
  std::int32_t all = 0;
  with_vectors([&all, x, count] {
    all = x.is_signed ? sum(static_cast<const std::int8_t*>(x.data), count)
                      : sum(static_cast<const std::uint8_t*>(x.data), count);
  });
  return all;
}

}  // namespace rondel::kernels
