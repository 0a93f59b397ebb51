#include "kernels/window_row.h"

#include "kernels/lanes.h"
#include "kernels/vectors.h"
#include "kernels/window.h"

#include <algorithm>

namespace rondel::kernels {
namespace {

struct Columns {
  std::int64_t from, to;
};

/// The columns for which weight `k` reads inside x.
template <class T>
[[gnu::always_inline]] inline Columns columns_of(const WindowRow<T>& w, std::int64_t k,
                                                 Columns all) {
  const Inside in = inside(w.offset + k * w.dilation, w.stride, w.extent, all.to);
  return {std::max(all.from, in.from), in.to};
}

template <class T>
[[gnu::always_inline]] inline void add_weight(const WindowRow<T>& w, std::int64_t k, const T* x,
                                              T* y, Columns c) {
  const T weight = w.weights[k];
  x += w.offset + k * w.dilation;
  if (w.stride == 2)
    for (std::int64_t j = c.from; j < c.to; ++j) y[j] += weight * x[2 * j];
  else
    for (std::int64_t j = c.from; j < c.to; ++j) y[j] += weight * x[j * w.stride];
}

/// Any columns and any stride; weights that read outside x are skipped.
template <class T>
[[gnu::always_inline]] inline void add_at_end(const WindowRow<T>& w, const T* x, T* y, Columns c) {
  for (std::int64_t k = 0; k < w.count && c.from < c.to; ++k)
    add_weight(w, k, x, y, columns_of(w, k, c));
}

/// Computes `several` neighbouring vectors of y; the sums begin with the values in `start`.
template <class T, int bytes, std::int64_t several>
[[gnu::always_inline]] inline void add_vectors(const WindowRow<T>& w, const T* x, const T* start,
                                               T* y) {
  using Vectors = Lanes<T, bytes>;
  typename Vectors::Vector sums[several];
#pragma GCC unroll 8
  for (std::int64_t s = 0; s < several; ++s) sums[s] = load<T, bytes>(start + s * Vectors::count);
  for (std::int64_t k = 0; k < w.count; ++k)
#pragma GCC unroll 8
    for (std::int64_t s = 0; s < several; ++s)
      sums[s] += w.weights[k] * load<T, bytes>(x + s * Vectors::count + k * w.dilation);
#pragma GCC unroll 8
  for (std::int64_t s = 0; s < several; ++s) store<T, bytes>(y + s * Vectors::count, sums[s]);
}

/// Columns for which all weights read inside x, for stride 1. Sums stay in registers.
template <class T, int bytes>
[[gnu::always_inline]] inline void add_inside(const WindowRow<T>& w, const T* x, T* y, Columns c) {
  constexpr std::int64_t lanes = Lanes<T, bytes>::count, several = 8;
  x += w.offset;
  if (c.to - c.from < lanes) {
    for (std::int64_t k = 0; k < w.count; ++k)
      for (std::int64_t j = c.from; j < c.to; ++j) y[j] += w.weights[k] * x[j + k * w.dilation];
    return;
  }
  // The last vector is computed first, from the old values in y, because it may overlap the others.
  T last[lanes];
  const std::int64_t at = c.to - lanes;
  add_vectors<T, bytes, 1>(w, x + at, y + at, last);
  std::int64_t j = c.from;
  for (; j + several * lanes <= c.to; j += several * lanes)
    add_vectors<T, bytes, several>(w, x + j, y + j, y + j);
  for (; j + lanes <= c.to; j += lanes) add_vectors<T, bytes, 1>(w, x + j, y + j, y + j);
  std::copy_n(last, lanes, y + at);
}

}  // namespace

template <class T>
void add_window_row(const WindowRow<T>& w, const T* x, T* y, std::int64_t from, std::int64_t to) {
  with_registers([&](auto bytes) {
    const Columns all{from, to};
    const Columns first = columns_of(w, 0, all), last = columns_of(w, w.count - 1, all);
    const std::int64_t begin = std::clamp(first.from, from, to);
    const std::int64_t end = std::clamp(last.to, begin, to);
    add_at_end(w, x, y, {from, begin});
    if (w.stride == 1) add_inside<T, bytes()>(w, x, y, {begin, end});
    else add_at_end(w, x, y, {begin, end});
    add_at_end(w, x, y, {end, to});
  });
}

template void add_window_row(const WindowRow<float>&, const float*, float*, std::int64_t,
                             std::int64_t);
template void add_window_row(const WindowRow<double>&, const double*, double*, std::int64_t,
                             std::int64_t);

}  // namespace rondel::kernels
