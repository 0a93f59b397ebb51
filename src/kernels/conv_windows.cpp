#include "kernels/conv_windows.h"

#include "kernels/looks.h"

#include <algorithm>
#include <array>

namespace rondel::kernels {
namespace {

/// Elements of a window, in all, and of those to one place.
constexpr std::int64_t least_window = std::int64_t{1} << 17, least_a_place = 8192;

std::int64_t count_from(const Shape& shape, std::size_t axis) {
  return element_count(std::span(shape).subspan(axis));
}

/// Sum of a[i * step] * b[i].
[[gnu::target_clones("avx2", "default")]] float dot(const float* a, std::int64_t step,
                                                    const float* b, std::int64_t n) {
  constexpr std::int64_t lanes = 64;
  std::array<float, lanes> sums{};
  std::int64_t i = 0;
  if (step == 1)
    for (; i + lanes <= n; i += lanes)
      for (std::int64_t j = 0; j < lanes; ++j)
        sums[static_cast<std::size_t>(j)] += a[i + j] * b[i + j];
  float sum = 0;
  for (; i < n; ++i) sum += a[i * step] * b[i];
  for (const float s : sums) sum += s;
  return sum;
}

/// One image's planes under one map's window, at one place after another.
class Window {
 public:
  Window(Looks& looks, const std::vector<WindowAxis>& axes, const Shape& x, const Shape& w)
      : looks_(looks), axes_(axes), x_(x), w_(w), at_(axes.size()) {}

  float sum_at(const float* x, const float* w, const Shape& place) {
    for (std::size_t a = 0; a < axes_.size(); ++a)
      at_[a] = place[a] * axes_[a].stride - axes_[a].begin;
    float sum = 0;
    for (std::int64_t c = 0; c < w_[1]; ++c)
      sum += along(0, x + c * count_from(x_, 2), w + c * count_from(w_, 2));
    return sum;
  }

 private:
  /// From axis `a` of the plane on; what lies in the padding is left out.
  float along(std::size_t a, const float* x, const float* w) {
    const WindowAxis& axis = axes_[a];
    const std::int64_t extent = x_[a + 2], d = axis.dilation, at = at_[a];
    const std::int64_t from = at >= 0 ? 0 : (-at + d - 1) / d;
    const std::int64_t to = std::min(axis.kernel, at >= extent ? 0 : (extent - 1 - at) / d + 1);
    if (from >= to) return 0;
    if (a + 1 == axes_.size()) {
      looks_.did((to - from) / 4 + 8);
      return dot(x + at + from * d, d, w + from, to - from);
    }
    float sum = 0;
    for (std::int64_t k = from; k < to; ++k)
      sum += along(a + 1, x + (at + k * d) * count_from(x_, a + 3), w + k * count_from(w_, a + 3));
    return sum;
  }

  Looks& looks_;
  const std::vector<WindowAxis>& axes_;
  const Shape &x_, &w_;
  Shape at_;  ///< where the window begins
};

}  // namespace

bool few_large_windows(const Shape& y, const Shape& w) {
  const std::int64_t window = count_from(w, 1);
  return window >= least_window && count_from(y, 2) <= window / least_a_place;
}

void conv_windows(UnsizedCall& call, const ConvSpec& spec, const Tensor& x, const Tensor& w,
                  const Tensor& bias, const Tensor& y) {
  std::vector<WindowAxis> axes;
  for (std::size_t a = 2; a < x.shape().size(); ++a)
    axes.push_back(axis_of(spec.window, a - 2, x.shape()[a], w.shape()[a]));
  Looks looks(call);
  Window window(looks, axes, x.shape(), w.shape());
  const std::int64_t maps = y.shape()[1], maps_per_group = maps / spec.groups;
  auto* out = y.data_as<float>();
  for (std::int64_t n = 0; n < x.shape()[0]; ++n)
    for (std::int64_t m = 0; m < maps; ++m) {
      const std::int64_t channel = n * x.shape()[1] + m / maps_per_group * w.shape()[1];
      const float* planes = x.data_as<float>() + channel * count_from(x.shape(), 2);
      const float* weights = w.data_as<float>() + m * count_from(w.shape(), 1);
      const float start = bias.defined() ? bias.data_as<float>()[m] : 0;
      Shape place(axes.size());
      for (std::int64_t p = count_from(y.shape(), 2); p > 0; --p) {
        *out++ = start + window.sum_at(planes, weights, place);
        for (std::size_t a = axes.size(); a-- > 0;) {
          if (++place[a] < y.shape()[a + 2]) break;
          place[a] = 0;
        }
      }
    }
}

}  // namespace rondel::kernels
