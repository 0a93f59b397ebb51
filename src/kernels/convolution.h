#pragma once
#include "kernels/kernel.h"
#include "kernels/views.h"
#include "kernels/window.h"
#include "kernels/workspace.h"

#include <algorithm>
#include <array>

/// Code shared by the reference and the fast convolution. Internal to them.
namespace rondel::kernels::convolution {

/// One spatial axis. At output position o, element k of the window reads element
/// o * stride + k * dilation - begin of x.
struct Axis {
  WindowAxis window;
  std::int64_t in, out;

  /// The extent with padding, as far as windows read it.
  std::int64_t padded() const { return (out - 1) * window.stride + window.reach(); }
  /// Along the last axis, a padded image has the elements of each phase together: those with equal
  /// remainders by the stride, as far as windows read them (`PaddedInput`).
  std::int64_t phases() const { return std::min(window.stride, window.reach()); }
  std::int64_t phase_length() const { return out + (window.reach() - 1) / window.stride; }
};

/// The sizes of one call.
struct Sizes {
  std::span<Axis> axes;  ///< at least one: if x has no spatial axes, one axis of extent 1
  std::int64_t images, groups;
  std::int64_t channels, maps;                  ///< input and output channels of one group
  std::int64_t in_size, out_size, window_size;  ///< elements of a plane of x, of y, of w
  std::int64_t out_row;                         ///< elements of a row of y
  bool stride_one, padded;  ///< the stride is 1 along every axis; x is padded along some axis
  /// Elements of a row and of a plane of x with its padding, as far as windows read it
  /// (`PaddedInput`); at most 2^60.
  std::int64_t padded_row, padded_plane;

  /// Whether y has no elements, so that nothing is computed, whatever the other extents are.
  bool is_empty() const { return images == 0 || maps == 0 || out_size == 0; }
};

/// Axis `a` of a convolution with these extents of x, w and y.
inline Axis axis_at(const WindowSpec& window, std::size_t a, std::span<const std::int64_t> x,
                    std::span<const std::int64_t> w, std::span<const std::int64_t> y) {
  return {axis_of(window, a, x[a + 2], w[a + 2]), x[a + 2], y[a + 2]};
}

/// All sizes but `axes`.
inline Sizes sizes_of(const ConvSpec& spec, std::span<const std::int64_t> x,
                      std::span<const std::int64_t> w, std::span<const std::int64_t> y) {
  // a * b, at most 2^60.
  const auto times = [](std::int64_t a, std::int64_t b) {
    constexpr std::int64_t most = std::int64_t{1} << 60;
    return a > 0 && b > most / a ? most : a * b;
  };
  Sizes c{};
  c.images = x[0];
  c.groups = spec.groups;
  c.channels = w[1];
  c.maps = w[0] / spec.groups;
  c.in_size = product(x.subspan(2));
  c.out_size = product(y.subspan(2));
  c.window_size = product(w.subspan(2));
  c.out_row = x.size() > 2 ? y.back() : 1;
  c.stride_one = true;
  c.padded_row = c.padded_plane = 1;
  for (std::size_t a = 0; a + 2 < x.size(); ++a) {
    const Axis axis = axis_at(spec.window, a, x, w, y);
    c.stride_one = c.stride_one && axis.window.stride == 1;
    c.padded = c.padded || axis.out + axis.window.reach() - 1 != axis.in;
    const bool last = a + 3 == x.size();
    if (last) c.padded_row = axis.phases() * axis.phase_length();
    c.padded_plane = times(c.padded_plane, last ? c.padded_row : axis.padded());
  }
  return c;
}

/// Sets c.axes, which has room for them.
inline void set_axes(const Sizes& c, const ConvSpec& spec, std::span<const std::int64_t> x,
                     std::span<const std::int64_t> w, std::span<const std::int64_t> y) {
  if (x.size() == 2) c.axes[0] = {{}, 1, 1};
  for (std::size_t a = 0; a + 2 < x.size(); ++a) c.axes[a] = axis_at(spec.window, a, x, w, y);
}

/// The operands and sizes of one call.
template <class T> struct Convolution : Sizes {
  const T *x, *w, *bias;  ///< row-major; bias: null if omitted
  T* y;
  T padding = {};

  const T* group_of_x(std::int64_t image, std::int64_t group) const {
    return x + (image * groups + group) * channels * in_size;
  }
  const T* group_of_w(std::int64_t group) const {
    return w + group * maps * channels * window_size;
  }
  T* group_of_y(std::int64_t image, std::int64_t group) const {
    return y + (image * groups + group) * maps * out_size;
  }
};

/// A kernel that sets up a Convolution<T>, then runs `Algorithm`, which lays out its own part of
/// the workspace and computes y.
template <class T, class Algorithm> class Conv final : public SizedKernel {
 public:
  Conv(ConvSpec spec, std::size_t rank)
      : SizedKernel(3, 1), spec_(std::move(spec)), rank_(rank),
        axes_(std::max<std::size_t>(rank, 3) - 2) {}

  std::int64_t workspace(std::span<const Operand> o) const override {
    Workspace counted;
    Convolution<T> c = sizes(o);
    lay_out(counted, c, o);
    if (!c.is_empty()) Algorithm().lay_out(counted, c);
    return counted.bytes();
  }

  Status run(Context& context, std::span<const View> v) const override {
    const std::array<Operand, 4> o{operand_of(v[0], rank_), operand_of(v[1], rank_),
                                   operand_of(v[2], 1), operand_of(v[3], rank_)};
    StopCheck stop(context);
    Workspace workspace(v.back());
    Convolution<T> c = sizes(o);
    const PackingBuffers packing = lay_out(workspace, c, o);
    if (c.is_empty()) return done;
    Algorithm algorithm;
    algorithm.lay_out(workspace, c);
    c.x = row_major(stop, v[0], rank_, packing.x);
    c.w = row_major(stop, v[1], rank_, packing.w);
    c.bias = o[2].given ? row_major(stop, v[2], 1, packing.bias) : nullptr;
    c.y = static_cast<T*>(v[3].data);
    set_axes(c, spec_, o[0].extents, o[1].extents, o[3].extents);
    algorithm.run(stop, c);
    return done;
  }

 private:
  /// Buffers for packed copies of inputs that are not row-major.
  struct PackingBuffers {
    T *x, *w, *bias;
  };

  Convolution<T> sizes(std::span<const Operand> o) const {
    return {sizes_of(spec_, o[0].extents, o[1].extents, o[3].extents), nullptr, nullptr, nullptr,
            nullptr};
  }

  PackingBuffers lay_out(Workspace& w, Convolution<T>& c, std::span<const Operand> o) const {
    c.axes = {w.take<Axis>(static_cast<std::int64_t>(axes_)), axes_};
    return {w.take<T>(packing_size(o[0])), w.take<T>(packing_size(o[1])),
            w.take<T>(packing_size(o[2]))};
  }

  ConvSpec spec_;
  std::size_t rank_, axes_;
};

}  // namespace rondel::kernels::convolution
