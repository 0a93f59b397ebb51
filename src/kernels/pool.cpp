#include "kernels/pool.h"

#include "kernels/looks.h"
#include "kernels/narrow_floats.h"

#include <algorithm>
#include <limits>

namespace rondel::kernels {
namespace {

/// The spatial side of a pooling: axes, extents, and steps through one plane.
struct Plane {
  Shape in, out;
  std::vector<WindowAxis> windows;
  Shape steps;        // elements of a plane from one index of an axis to the next
  Shape index_steps;  // the same as indices are counted
};

Plane plane_of(const PoolSpec& s, const Shape& x, const Shape& y) {
  Plane p{{x.begin() + 2, x.end()}, {y.begin() + 2, y.end()}, {}, {}, {}};
  for (std::size_t a = 0; a < p.in.size(); ++a)
    p.windows.push_back(axis_of(s.window, a, p.in[a], s.window.kernel[a]));
  p.steps = p.index_steps = row_major_strides(p.in);
  if (s.column_major) {
    std::int64_t step = 1;
    for (std::size_t a = 0; a < p.in.size(); ++a) {
      p.index_steps[a] = step;
      step *= p.in[a];
    }
  }
  return p;
}

/// Advances a row-major counter; false after the last.
bool next(Shape& counter, const Shape& extents) {
  for (std::size_t a = counter.size(); a-- > 0;) {
    if (++counter[a] < extents[a]) return true;
    counter[a] = 0;
  }
  return false;
}

/// The part of one axis under a window at one place.
struct Span {
  std::int64_t first, count, step,
      covered;  // covered: elements with padding, without what is beyond
};

Span span_of(const WindowAxis& w, std::int64_t extent, std::int64_t place) {
  const std::int64_t start = place * w.stride - w.begin;
  Span s{0, 0, w.dilation, 0};
  for (std::int64_t k = 0; k < w.kernel; ++k) {
    const std::int64_t at = start + k * w.dilation;
    if (at < extent + w.end) ++s.covered;
    if (at < 0 || at >= extent) continue;
    if (s.count++ == 0) s.first = at;
  }
  return s;
}

/// Calls f(offset in the plane, index as it is counted) for every element under the window.
template <class F> void under(Looks& looks, const Plane& p, const std::vector<Span>& spans, F f) {
  Shape counts, counter(spans.size());
  for (const Span& s : spans) {
    if (s.count == 0) return;
    counts.push_back(s.count);
  }
  do {
    std::int64_t offset = 0, index = 0;
    for (std::size_t a = 0; a < spans.size(); ++a) {
      const std::int64_t at = spans[a].first + counter[a] * spans[a].step;
      offset += at * p.steps[a];
      index += at * p.index_steps[a];
    }
    f(offset, index);
    looks.did(4);
  } while (next(counter, counts));
}

/// Calls f(plane number, place number, spans) for every element of the result.
template <class F> void each_place(Looks& looks, const Plane& p, std::int64_t planes, F f) {
  std::vector<Span> spans(p.in.size());
  if (element_count(p.out) == 0) return;
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    Shape place(p.out.size());
    std::int64_t number = 0;
    do {
      for (std::size_t a = 0; a < spans.size(); ++a) {
        spans[a] = span_of(p.windows[a], p.in[a], place[a]);
        looks.did(p.windows[a].kernel);
      }
      f(plane, number++, spans);
    } while (next(place, p.out));
  }
}

template <class T> void max_as(KernelCall& call, const PoolSpec& spec, bool indices) {
  const Tensor x = packed_with_looks(call, 0);
  const Shape shape = pool_shape(spec, x.shape());
  const Tensor y = call.make(0, x.dtype(), shape);
  const Tensor where = indices ? call.make(1, DType::i64, shape) : Tensor();
  const Plane p = plane_of(spec, x.shape(), shape);
  Looks looks(call);
  const std::int64_t in_size = element_count(p.in), out_size = element_count(p.out);
  const auto pick = [&](std::int64_t plane, std::int64_t number, const std::vector<Span>& spans) {
    const T* in = x.data_as<T>() + plane * in_size;
    T best{};
    std::int64_t best_at = -1;
    under(looks, p, spans, [&](std::int64_t offset, std::int64_t index) {
      const T v = in[offset];
      const bool wins = best_at < 0 || v > best || (v != v && best == best);
      if (wins) best = v, best_at = index;
    });
    y.data_as<T>()[plane * out_size + number] = best;
    if (indices)
      where.data_as<std::int64_t>()[plane * out_size + number] = best_at < 0
                                                                     ? -1
                                                                     : plane * in_size + best_at;
  };
  each_place(looks, p, shape[0] * shape[1], pick);
}

template <class T> void average_as(KernelCall& call, const PoolSpec& spec) {
  using Acc = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const Tensor x = packed_with_looks(call, 0);
  const Shape shape = pool_shape(spec, x.shape());
  const Tensor y = call.make(0, x.dtype(), shape);
  const Plane p = plane_of(spec, x.shape(), shape);
  Looks looks(call);
  const std::int64_t in_size = element_count(p.in), out_size = element_count(p.out);
  const auto mean = [&](std::int64_t plane, std::int64_t number, const std::vector<Span>& spans) {
    const T* in = x.data_as<T>() + plane * in_size;
    Acc sum = 0;
    std::int64_t count = 1;
    for (const Span& s : spans) count *= spec.count_include_pad ? s.covered : s.count;
    under(looks, p, spans, [&](std::int64_t at, std::int64_t) { sum += static_cast<Acc>(in[at]); });
    y.data_as<T>()[plane * out_size + number] = static_cast<T>(sum / static_cast<Acc>(count));
  };
  each_place(looks, p, shape[0] * shape[1], mean);
}

}  // namespace

Shape pool_shape(const PoolSpec& s, const Shape& x) {
  Shape y{x[0], x[1]};
  for (std::size_t a = 2; a < x.size(); ++a) {
    const WindowAxis w = axis_of(s.window, a - 2, x[a], s.window.kernel[a - 2]);
    y.push_back(places(w, x[a], s.window.ceil_mode));
  }
  return y;
}

void max_pool(KernelCall& call, const PoolSpec& spec, bool indices) {
  with_number_type(call.tensor(0).dtype(),
                   [&](auto zero) { max_as<decltype(zero)>(call, spec, indices); });
}

void average_pool(KernelCall& call, const PoolSpec& spec) {
  with_float_type(call.tensor(0).dtype(),
                  [&](auto zero) { average_as<decltype(zero)>(call, spec); });
}

}  // namespace rondel::kernels
