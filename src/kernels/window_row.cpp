#include "kernels/window_row.h"

#include "kernels/lanes.h"
#include "kernels/vectors.h"
#include "kernels/window.h"

#include <algorithm>

namespace rondel::kernels {
namespace {

using Vector = Lanes<float>::Vector;
constexpr std::int64_t lanes = Lanes<float>::count;

struct Columns {
  std::int64_t from, to;
};

/// The columns for which weight `k` reads x.
[[gnu::always_inline]] inline Columns columns_of(const WindowRow& w, std::int64_t k, Columns all) {
  const Inside in = inside(w.offset + k * w.dilation, w.stride, w.extent, all.to);
  return {std::max(all.from, in.from), in.to};
}

[[gnu::always_inline]] inline void add_weight(const WindowRow& w, std::int64_t k, const float* x,
                                              float* y, Columns c) {
  const float weight = w.weights[k];
  x += w.offset + k * w.dilation;
  if (w.stride == 2)
    for (std::int64_t j = c.from; j < c.to; ++j) y[j] += weight * x[2 * j];
  else
    for (std::int64_t j = c.from; j < c.to; ++j) y[j] += weight * x[j * w.stride];
}

/// Columns at an end.
[[gnu::always_inline]] inline void add_at_end(const WindowRow& w, const float* x, float* y,
                                              Columns c) {
  for (std::int64_t k = 0; k < w.count && c.from < c.to; ++k)
    add_weight(w, k, x, y, columns_of(w, k, c));
}

[[gnu::always_inline]] inline Vector sum_at(const WindowRow& w, const float* x, Vector sum) {
  for (std::int64_t k = 0; k < w.count; ++k) sum += w.weights[k] * load(x + k * w.dilation);
  return sum;
}

/// Columns all of whose weights read x, stride 1: sums stay in registers.
[[gnu::always_inline]] inline void add_inside(const WindowRow& w, const float* x, float* y,
                                              Columns c) {
  constexpr std::int64_t several = 4;
  x += w.offset;
  if (c.to - c.from < lanes) {
    for (std::int64_t k = 0; k < w.count; ++k)
      for (std::int64_t j = c.from; j < c.to; ++j) y[j] += w.weights[k] * x[j + k * w.dilation];
    return;
  }
  // The last columns are made first, from what y holds; they may overlap those before.
  const Vector last = sum_at(w, x + c.to - lanes, load(y + c.to - lanes));
  std::int64_t j = c.from;
  for (; j + several * lanes <= c.to; j += several * lanes) {
    Vector sums[several];
#pragma GCC unroll 4
    for (std::int64_t s = 0; s < several; ++s) sums[s] = load(y + j + s * lanes);
    for (std::int64_t k = 0; k < w.count; ++k)
#pragma GCC unroll 4
      for (std::int64_t s = 0; s < several; ++s)
        sums[s] += w.weights[k] * load(x + j + s * lanes + k * w.dilation);
#pragma GCC unroll 4
    for (std::int64_t s = 0; s < several; ++s) store(y + j + s * lanes, sums[s]);
  }
  for (; j + lanes <= c.to; j += lanes) store(y + j, sum_at(w, x + j, load(y + j)));
  store(y + c.to - lanes, last);
}

}  // namespace

void add_window_row(const WindowRow& w, const float* x, float* y, std::int64_t from,
                    std::int64_t to) {
  with_vectors([&] {
    const Columns all{from, to};
    const Columns first = columns_of(w, 0, all), last = columns_of(w, w.count - 1, all);
    const std::int64_t begin = std::clamp(first.from, from, to);
    const std::int64_t end = std::clamp(last.to, begin, to);
    add_at_end(w, x, y, {from, begin});
    if (w.stride == 1) add_inside(w, x, y, {begin, end});
    else add_at_end(w, x, y, {begin, end});
    add_at_end(w, x, y, {end, to});
  });
}

}  // namespace rondel::kernels
