#include "kernels/conv.h"

#include "kernels/convolution.h"
#include "kernels/narrow_floats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rondel::kernels {
namespace {

using namespace convolution;

/// Elements of a row between checks of the stop flag.
constexpr std::int64_t most_at_once = StopCheck::interval;

/// Calls f(from, to) for parts of [0, n), with stop checks between them.
template <class F> void in_parts(StopCheck& stop, std::int64_t n, const F& f) {
  for (std::int64_t from = 0; from < n; from += most_at_once) {
    const std::int64_t to = std::min(n, from + most_at_once);
    f(from, to);
    stop.add_work(to - from);
  }
}

/// The reference: for one element of the window after another, adds its products at all output
/// positions of a plane.
template <class T> struct Plain {
  /// Sums are f64 for f64, else f32.
  using Acc = std::conditional_t<std::is_same_v<T, double>, double, float>;
  Acc* sum;                          ///< by output position
  std::int64_t *position, *offsets;  ///< of the element of the window, by axis

  void lay_out(Workspace& w, const Convolution<T>& c) {
    const auto axes = static_cast<std::int64_t>(c.axes.size());
    sum = w.take<Acc>(c.out_size);
    position = w.take<std::int64_t>(axes);
    offsets = w.take<std::int64_t>(axes);
  }

  void run(StopCheck& stop, const Convolution<T>& c) {
    for (std::int64_t n = 0; n < c.images; ++n)
      for (std::int64_t g = 0; g < c.groups; ++g) one_group(stop, c, n, g);
  }

 private:
  void one_group(StopCheck& stop, const Convolution<T>& c, std::int64_t image, std::int64_t group) {
    const T *x = c.group_of_x(image, group), *w = c.group_of_w(group);
    T* y = c.group_of_y(image, group);
    for (std::int64_t m = 0; m < c.maps; ++m) {
      const Acc start = c.bias != nullptr ? static_cast<Acc>(c.bias[group * c.maps + m]) : Acc{0};
      in_parts(stop, c.out_size,
               [&](std::int64_t from, std::int64_t to) { std::fill(sum + from, sum + to, start); });
      for (std::int64_t k = 0; k < c.channels; ++k)
        add_channel(stop, c, x + k * c.in_size, w + (m * c.channels + k) * c.window_size);
      in_parts(stop, c.out_size, [&](std::int64_t from, std::int64_t to) {
        std::transform(sum + from, sum + to, y + m * c.out_size + from,
                       [](Acc v) { return static_cast<T>(v); });
      });
    }
  }

  void add_channel(StopCheck& stop, const Convolution<T>& c, const T* x, const T* w) {
    std::fill(position, position + c.axes.size(), 0);
    for (std::int64_t k = 0; k < c.window_size; ++k) {
      for (std::size_t a = 0; a < c.axes.size(); ++a)
        offsets[a] = position[a] * c.axes[a].window.dilation - c.axes[a].window.begin;
      const auto weight = static_cast<Acc>(w[k]);
      add_axis(stop, c, 0, x, weight, 0, 0);
      if (!std::isfinite(weight)) add_padding(stop, c, 0, 0);
      for (std::size_t a = c.axes.size(); a-- > 0;) {
        if (++position[a] < c.axes[a].window.kernel) break;
        position[a] = 0;
      }
    }
  }

  /// sum[o] += weight * x[o * stride + offset] for all positions o along axis `a` and later axes.
  void add_axis(StopCheck& stop, const Convolution<T>& c, std::size_t a, const T* x, Acc weight,
                std::int64_t in_base, std::int64_t out_base) {
    const Axis& axis = c.axes[a];
    const std::int64_t stride = axis.window.stride;
    const Inside in = inside(offsets[a], stride, axis.in, axis.out);
    const std::int64_t in_row = in_base * axis.in + offsets[a], out_row = out_base * axis.out;
    if (a + 1 < c.axes.size()) {
      for (std::int64_t o = in.from; o < in.to; ++o)
        add_axis(stop, c, a + 1, x, weight, in_row + o * stride, out_row + o);
      return;
    }
    for (std::int64_t from = in.from; from < in.to; from += most_at_once) {
      const std::int64_t to = std::min(in.to, from + most_at_once);
      for (std::int64_t o = from; o < to; ++o)
        sum[out_row + o] += weight * static_cast<Acc>(x[in_row + o * stride]);
      stop.add_work(to - from);
    }
  }

  /// Where the element is padding, a weight that is not finite times 0 is NaN.
  void add_padding(StopCheck& stop, const Convolution<T>& c, std::size_t a, std::int64_t out_base) {
    const Axis& axis = c.axes[a];
    const Inside in = inside(offsets[a], axis.window.stride, axis.in, axis.out);
    std::int64_t rest = 1;
    for (std::size_t later = a + 1; later < c.axes.size(); ++later) rest *= c.axes[later].out;
    for (std::int64_t o = 0; o < axis.out; ++o) {
      const std::int64_t at = out_base * axis.out + o;
      if (o < in.from || o >= in.to) {
        std::fill_n(sum + at * rest, rest, std::numeric_limits<Acc>::quiet_NaN());
        stop.add_work(rest);
      } else if (a + 1 < c.axes.size()) {
        add_padding(stop, c, a + 1, at);
      }
    }
  }
};

}  // namespace

std::shared_ptr<const SizedKernel> conv(const ConvSpec& spec, DType t, std::size_t rank) {
  std::shared_ptr<const SizedKernel> kernel;
  with_float_type(t, [&](auto zero) {
    using T = decltype(zero);
    kernel = std::make_shared<Conv<T, Plain<T>>>(spec, rank);
  });
  return kernel;
}

}  // namespace rondel::kernels
