#include "base/strided_copy.h"

#include "base/tile.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace rondel {
namespace {

/// Elements that are copied one after the other: their number, and the steps between them.
struct Axis {
  std::int64_t extent, from, to;
};
using Axes = std::vector<Axis>;

/// The axes of more than one element, outermost first; those that are adjacent in both tensors are
/// one.
Axes merged_axes(const Tensor& from, const Tensor& to) {
  Axes axes;
  for (std::size_t a = 0; a < from.shape().size(); ++a) {
    const Axis inner{from.shape()[a], from.strides()[a], to.strides()[a]};
    if (inner.extent == 1) continue;
    if (!axes.empty() && axes.back().from == inner.from * inner.extent &&
        axes.back().to == inner.to * inner.extent)
      axes.back() = {axes.back().extent * inner.extent, inner.from, inner.to};
    else axes.push_back(inner);
  }
  return axes;
}

/// Copies with the innermost loop over the last axis.
template <class T> void copy_rows(const T* from, T* to, const Axis* axis, const Axis* last) {
  if (axis == last) {
    const auto [extent, from_step, to_step] = *axis;
    if (from_step == 1 && to_step == 1) std::copy_n(from, extent, to);
    else
#pragma GCC unroll 8
      for (std::int64_t i = 0; i < extent; ++i) to[i * to_step] = from[i * from_step];
    return;
  }
  for (std::int64_t i = 0; i < axis->extent; ++i)
    copy_rows(from + i * axis->from, to + i * axis->to, axis + 1, last);
}

/// to[i * to_step + j] = from[i + j * from_step] for a tile.
template <class T>
void copy_tile(const T* from, std::int64_t from_step, T* to, std::int64_t to_step) {
  using Rows = Tile<T, 16>;
  typename Rows::Row rows[Rows::extent];
#pragma GCC unroll 16
  for (int j = 0; j < Rows::extent; ++j)
    rows[j] = *reinterpret_cast<const typename Rows::UnalignedRow*>(from + j * from_step);
  transpose<T, 16>(rows);
#pragma GCC unroll 16
  for (int i = 0; i < Rows::extent; ++i)
    *reinterpret_cast<typename Rows::UnalignedRow*>(to + i * to_step) = rows[i];
}

/// Calls f(begin) for pieces of `size` elements that cover [begin, end), which has as many at
/// least. The last piece may overlap the one before.
template <class F>
void each_piece(std::int64_t begin, std::int64_t end, std::int64_t size, const F& f) {
  for (std::int64_t at = begin; at < end; at += size) f(std::min(at, end - size));
}

/// Copies by tiles of the last two axes, whose elements are adjacent in `to` on the last one and in
/// `from` on the other one. Tiles form blocks, a cache line long and high, so that the lines stay
/// in the cache until all of each has been used.
template <class T> void copy_tiles(const T* from, T* to, const Axis* axis, const Axis* last) {
  if (axis + 1 != last) {
    for (std::int64_t i = 0; i < axis->extent; ++i)
      copy_tiles(from + i * axis->from, to + i * axis->to, axis + 1, last);
    return;
  }
  constexpr std::int64_t line = 64 / sizeof(T), n = Tile<T, 16>::extent;
  const std::int64_t height = std::min(line, axis->extent), width = std::min(line, last->extent);
  each_piece(0, axis->extent, height, [&](std::int64_t row) {
    each_piece(0, last->extent, width, [&](std::int64_t column) {
      each_piece(row, row + height, n, [&](std::int64_t i) {
        each_piece(column, column + width, n, [&](std::int64_t j) {
          copy_tile(from + i + j * last->from, last->from, to + i * axis->to + j, axis->to);
        });
      });
    });
  });
}

/// Whether elements are adjacent in `from` on one axis and in `to` on another one, and both axes
/// are as long as a tile.
template <class T> bool is_tiled(const Axis& read, const Axis& written) {
  constexpr std::int64_t n = Tile<T, 16>::extent;
  return read.from == 1 && read.extent >= n && written.to == 1 && written.extent >= n;
}

template <class T> void copy_as(const Tensor& source, const Tensor& target) {
  Axes axes = merged_axes(source, target);
  const T* const from = source.data_as<T>();
  T* const to = target.data_as<T>();
  if (axes.empty()) {
    *to = *from;
    return;
  }
  std::ranges::stable_sort(axes, std::greater(), [](const Axis& a) { return std::abs(a.to); });
  if constexpr (std::is_unsigned_v<T>) {
    const auto adjacent = std::ranges::find(axes, 1, &Axis::from);
    if (adjacent < axes.end() - 1 && is_tiled<T>(*adjacent, axes.back())) {
      std::rotate(adjacent, adjacent + 1, axes.end() - 1);
      return copy_tiles(from, to, axes.data(), &axes.back());
    }
  }
  constexpr std::int64_t short_row = 8;
  if (axes.back().extent < short_row)  // the inner loop is along the longest axis
    std::iter_swap(std::ranges::max_element(axes, {}, &Axis::extent), axes.end() - 1);
  copy_rows(from, to, axes.data(), &axes.back());
}

struct Wide {
  std::uint64_t low, high;
};

}  // namespace

void copy_strided(const Tensor& from, const Tensor& to) {
  if (from.dtype() == DType::string) return copy_as<std::string>(from, to);
  switch (byte_size(from.dtype())) {
    case 1: return copy_as<std::uint8_t>(from, to);
    case 2: return copy_as<std::uint16_t>(from, to);
    case 4: return copy_as<std::uint32_t>(from, to);
    case 8: return copy_as<std::uint64_t>(from, to);
    default: return copy_as<Wide>(from, to);
  }
}

}  // namespace rondel
