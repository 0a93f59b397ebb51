#include "kernels/conv.h"

#include "base/checked.h"
#include "kernels/looks.h"
#include "kernels/narrow_floats.h"

#include <algorithm>

namespace rondel::kernels {
namespace {

/// One plane of the input or the output, and how a kernel position maps one onto the other.
struct Plane {
  Shape in, out, kernel;  // spatial extents
  std::vector<WindowAxis> windows;
  std::int64_t in_size, out_size, kernel_size;
};

Plane plane_of(const ConvSpec& s, const Shape& x, const Shape& w, const Shape& y) {
  Plane p{
      {x.begin() + 2, x.end()}, {y.begin() + 2, y.end()}, {w.begin() + 2, w.end()}, {}, 0, 0, 0};
  for (std::size_t a = 0; a < p.in.size(); ++a)
    p.windows.push_back(axis_of(s.window, a, p.in[a], p.kernel[a]));
  p.in_size = element_count(p.in);
  p.out_size = element_count(p.out);
  p.kernel_size = element_count(p.kernel);
  return p;
}

/// Elements of a row between looks at the stop flag.
constexpr std::int64_t most_at_once = Looks::units;

/// sum[o] += weight * x[o * stride + offset] over the places of axis `a` and those after it.
template <class T, class Acc>
void add_axis(Looks& looks, const Plane& p, std::size_t a, const Shape& offsets, const T* x,
              Acc* sum, Acc weight, std::int64_t in_base, std::int64_t out_base) {
  const std::int64_t stride = p.windows[a].stride;
  const Inside in = inside(offsets[a], stride, p.in[a], p.out[a]);
  const std::int64_t in_row = in_base * p.in[a] + offsets[a], out_row = out_base * p.out[a];
  if (a + 1 < p.in.size()) {
    for (std::int64_t o = in.from; o < in.to; ++o)
      add_axis(looks, p, a + 1, offsets, x, sum, weight, in_row + o * stride, out_row + o);
    return;
  }
  for (std::int64_t from = in.from; from < in.to; from += most_at_once) {
    const std::int64_t to = std::min(in.to, from + most_at_once);
    for (std::int64_t o = from; o < to; ++o)
      sum[out_row + o] += weight * static_cast<Acc>(x[in_row + o * stride]);
    looks.did(to - from);
  }
}

/// Adds one input channel, seen through one kernel plane.
template <class T, class Acc>
void add_channel(Looks& looks, const Plane& p, const T* x, const T* w, Acc* sum) {
  Shape position(p.kernel.size()), offsets(p.kernel.size());
  for (std::int64_t k = 0; k < p.kernel_size; ++k) {
    for (std::size_t a = 0; a < position.size(); ++a)
      offsets[a] = position[a] * p.windows[a].dilation - p.windows[a].begin;
    const Acc weight = static_cast<Acc>(w[k]);
    if (p.in.empty()) sum[0] += weight * static_cast<Acc>(x[0]);
    else add_axis(looks, p, 0, offsets, x, sum, weight, 0, 0);
    for (std::size_t a = position.size(); a-- > 0;) {
      if (++position[a] < p.kernel[a]) break;
      position[a] = 0;
    }
  }
}

/// f(from, to) for parts of [0, n).
template <class F> void in_looked_at_parts(Looks& looks, std::int64_t n, const F& f) {
  for (std::int64_t from = 0; from < n; from += most_at_once) {
    const std::int64_t to = std::min(n, from + most_at_once);
    f(from, to);
    looks.did(to - from);
  }
}

template <class T> void conv_as(UnsizedCall& call, const ConvSpec& spec) {
  using Acc = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const Tensor x = packed_with_looks(call, 0), w = packed_with_looks(call, 1);
  const Tensor bias = call.has(2) ? call.packed(2) : Tensor();
  const Tensor y = call.make(0, x.dtype(), conv_shape(spec, x.shape(), w.shape()));
  const Plane p = plane_of(spec, x.shape(), w.shape(), y.shape());
  const std::int64_t channels = x.shape()[1], maps = w.shape()[0];
  const std::int64_t per_group = w.shape()[1], maps_per_group = maps / spec.groups;
  Looks looks(call);
  // Sums are f64 for f64, else f32.
  const Tensor sums = call.scratch(dtype_of<Acc>::value, {p.out_size});
  Acc* sum = sums.data_as<Acc>();
  for (std::int64_t n = 0; n < x.shape()[0]; ++n) {
    for (std::int64_t m = 0; m < maps; ++m) {
      const Acc start = bias.defined() ? static_cast<Acc>(bias.data_as<T>()[m]) : Acc{0};
      in_looked_at_parts(looks, p.out_size, [&](std::int64_t from, std::int64_t to) {
        std::fill(sum + from, sum + to, start);
      });
      const std::int64_t first = n * channels + m / maps_per_group * per_group;
      for (std::int64_t c = 0; c < per_group; ++c)
        add_channel(looks, p, x.data_as<T>() + (first + c) * p.in_size,
                    w.data_as<T>() + (m * per_group + c) * p.kernel_size, sum);
      T* out = y.data_as<T>() + (n * maps + m) * p.out_size;
      in_looked_at_parts(looks, p.out_size, [&](std::int64_t from, std::int64_t to) {
        std::transform(sum + from, sum + to, out + from, [](Acc v) { return static_cast<T>(v); });
      });
    }
  }
}

}  // namespace

Shape conv_shape(const ConvSpec& spec, const Shape& x, const Shape& w) {
  Shape y{x[0], w[0]};
  for (std::size_t a = 2; a < x.size(); ++a)
    y.push_back(places(axis_of(spec.window, a - 2, x[a], w[a]), x[a], false));
  return y;
}

void conv(UnsizedCall& call, const ConvSpec& spec) {
  with_float_type(call.tensor(0).dtype(), [&](auto zero) { conv_as<decltype(zero)>(call, spec); });
}

}  // namespace rondel::kernels
