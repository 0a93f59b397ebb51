#pragma once
#include "kernels/narrow_floats.h"
#include "kernels/views.h"
#include "kernels/window.h"
#include "kernels/workspace.h"

#include <algorithm>

/// What the plain and the fast pooling share. Not for others.
namespace rondel::kernels::pooling {

/// The part of one axis under a window at one position.
struct Span {
  std::int64_t first, count;
  std::int64_t covered;  ///< elements with padding, without what is beyond
};

/// One spatial axis.
struct Axis {
  WindowAxis window;
  std::int64_t in, out;
  std::int64_t step;        ///< elements of a plane from one index to the next
  std::int64_t index_step;  ///< the same as indices are counted

  Span span_at(std::int64_t position) const {
    const std::int64_t start = position * window.stride - window.begin, d = window.dilation;
    const auto below = [&](std::int64_t end) {  // elements that stand before `end`
      return start >= end ? 0 : std::min(window.kernel, (end - 1 - start) / d + 1);
    };
    const std::int64_t from = start >= 0 ? 0 : (-start + d - 1) / d;
    return {start + from * d, std::max<std::int64_t>(below(in) - from, 0), below(in + window.end)};
  }
};

/// Calls f() for each window position on the axes from `a` on, with `spans` set to that position.
template <class F>
void each_position(StopCheck& stop, std::span<const Axis> axes, Span* spans, std::size_t a,
                   const F& f) {
  if (a == axes.size()) return f();
  for (std::int64_t position = 0; position < axes[a].out; ++position) {
    spans[a] = axes[a].span_at(position);
    stop.add_work(8);
    each_position(stop, axes, spans, a + 1, f);
  }
}

/// Calls f(offset in the plane, index as it is counted) for each element under the window.
template <class F>
void under(std::span<const Axis> axes, const Span* spans, std::size_t a, std::int64_t offset,
           std::int64_t index, const F& f) {
  if (a == axes.size()) return f(offset, index);
  const Axis& axis = axes[a];
  const std::int64_t d = axis.window.dilation;
  offset += spans[a].first * axis.step;
  index += spans[a].first * axis.index_step;
  for (std::int64_t i = 0; i < spans[a].count; ++i) {
    if (a + 1 == axes.size()) f(offset, index);
    else under(axes, spans, a + 1, offset, index, f);
    offset += d * axis.step;
    index += d * axis.index_step;
  }
}

/// One call, laid out: the input packed, its axes.
template <class T> struct Pooling {
  using Acc =
      std::conditional_t<std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>, float, T>;

  std::span<Axis> axes;
  Span* spans;
  T* packed;
  const T* x;
  T* y;
  std::int64_t* where;  ///< null: indices are not wanted
  std::int64_t planes, in_size, out_size;
};

/// The greatest of what it is given, the first of equals, NaN above all.
template <class Acc> bool beats(Acc v, Acc best) {
  if constexpr (std::is_integral_v<Acc>) return v > best;
  else return v > best || (v != v && best == best);
}

/// `lanes` planes at once, one window after another.
template <class T, std::int64_t lanes> struct MaxByWindow {
  using Acc = typename Pooling<T>::Acc;

  static void run(StopCheck& stop, const Pooling<T>& p, const PoolSpec&, std::int64_t plane) {
    const T* x = p.x + plane * p.in_size;
    std::int64_t number = plane * p.out_size;
    each_position(stop, p.axes, p.spans, 0, [&] {
      Acc best[lanes]{};
      std::int64_t at[lanes];
      std::fill(at, at + lanes, -1);
      under(p.axes, p.spans, 0, 0, 0, [&](std::int64_t offset, std::int64_t index) {
        for (std::int64_t l = 0; l < lanes; ++l) {
          const auto v = static_cast<Acc>(x[l * p.in_size + offset]);
          const bool wins = at[l] < 0 || beats(v, best[l]);
          best[l] = wins ? v : best[l];
          at[l] = wins ? index : at[l];
        }
        stop.add_work(4);
      });
      for (std::int64_t l = 0; l < lanes; ++l) {
        p.y[number + l * p.out_size] = static_cast<T>(best[l]);
        if (p.where == nullptr) continue;
        p.where[number + l * p.out_size] = at[l] < 0 ? -1 : (plane + l) * p.in_size + at[l];
      }
      ++number;
    });
  }
};

/// How many elements a window's mean is of.
inline std::int64_t counted(std::span<const Span> spans, bool with_padding) {
  std::int64_t count = 1;
  for (const Span& s : spans) count *= with_padding ? s.covered : s.count;
  return count;
}

template <class T, std::int64_t lanes> struct MeanByWindow {
  using Acc = typename Pooling<T>::Acc;

  static void run(StopCheck& stop, const Pooling<T>& p, const PoolSpec& spec, std::int64_t plane) {
    const T* x = p.x + plane * p.in_size;
    std::int64_t number = plane * p.out_size;
    each_position(stop, p.axes, p.spans, 0, [&] {
      Acc sum[lanes]{};
      under(p.axes, p.spans, 0, 0, 0, [&](std::int64_t offset, std::int64_t) {
        for (std::int64_t l = 0; l < lanes; ++l)
          sum[l] += static_cast<Acc>(x[l * p.in_size + offset]);
        stop.add_work(4);
      });
      const auto count = static_cast<Acc>(
          counted({p.spans, p.axes.size()}, spec.count_include_pad));
      for (std::int64_t l = 0; l < lanes; ++l)
        p.y[number + l * p.out_size] = static_cast<T>(sum[l] / count);
      ++number;
    });
  }
};

/// A kernel over Pooling<T>. `Way` has what it needs beside in the workspace, and pools one plane
/// or several.
template <class T, class Way> class Pool final : public SizedKernel {
 public:
  Pool(PoolSpec spec, std::size_t outputs)
      : SizedKernel(1, outputs), spec_(std::move(spec)), spatial_(spec_.window.kernel.size()) {}

  std::int64_t workspace(std::span<const Operand> o) const override {
    Workspace counted;
    Pooling<T> p;
    Way way;
    const auto out = o[1].given ? o[1].extents : o[2].extents;
    lay_out(counted, p, way, o[0].extents, out, room_for(o[0]), o[1].given);
    return counted.bytes();
  }

  Status run(Context& context, std::span<const View> v) const override {
    const std::size_t rank = spatial_ + 2;
    const auto in = extents_of(v[0], rank);
    const auto out = extents_of(v[1].data != nullptr ? v[1] : v[2], rank);
    StopCheck stop(context);
    Workspace workspace(v.back());
    Pooling<T> p;
    Way way;
    lay_out(workspace, p, way, in, out, room_for(operand_of(v[0], rank)), v[1].data != nullptr);
    p.x = row_major(stop, v[0], rank, p.packed);
    if (v[1].data != nullptr) p.y = static_cast<T*>(v[1].data);
    p.where = outputs() > 1 ? static_cast<std::int64_t*>(v[2].data) : nullptr;
    p.planes = out[0] * out[1];
    p.in_size = product(in.subspan(2));
    p.out_size = product(out.subspan(2));
    std::int64_t step = p.in_size, column_step = 1;
    for (std::size_t a = 0; a < spatial_; ++a) {
      Axis& axis = p.axes[a];
      axis.in = in[a + 2];
      axis.out = out[a + 2];
      axis.window = axis_of(spec_.window, a, axis.in, spec_.window.kernel[a]);
      step = axis.in > 0 ? step / axis.in : 0;
      axis.step = step;
      axis.index_step = spec_.column_major ? column_step : step;
      column_step *= axis.in;
    }
    if (p.out_size > 0) way.run(stop, p, spec_);
    return done;
  }

 private:
  void lay_out(Workspace& w, Pooling<T>& p, Way& way, std::span<const std::int64_t> in,
               std::span<const std::int64_t> out, std::int64_t room, bool wanted) const {
    p.axes = {w.take<Axis>(static_cast<std::int64_t>(spatial_)), spatial_};
    p.spans = w.take<Span>(static_cast<std::int64_t>(spatial_));
    p.packed = w.take<T>(room);
    p.y = w.take<T>(wanted ? 0 : product(out));
    way.lay_out(w, spec_, in, out);
  }

  PoolSpec spec_;
  std::size_t spatial_;
};

/// `Way<T>` for the C++ type T of numbers of dtype `t`.
template <template <class> class Way>
std::shared_ptr<const SizedKernel> pool_of_numbers(const PoolSpec& spec, DType t,
                                                   std::size_t outputs) {
  std::shared_ptr<const SizedKernel> kernel;
  with_number_type(t, [&](auto zero) {
    using T = decltype(zero);
    kernel = std::make_shared<Pool<T, Way<T>>>(spec, outputs);
  });
  return kernel;
}
/// The same of floats.
template <template <class> class Way>
std::shared_ptr<const SizedKernel> pool_of_floats(const PoolSpec& spec, DType t,
                                                  std::size_t outputs) {
  std::shared_ptr<const SizedKernel> kernel;
  with_float_type(t, [&](auto zero) {
    using T = decltype(zero);
    kernel = std::make_shared<Pool<T, Way<T>>>(spec, outputs);
  });
  return kernel;
}

}  // namespace rondel::kernels::pooling
