#pragma once
#include "kernels/narrow_floats.h"
#include "kernels/views.h"
#include "kernels/window.h"
#include "kernels/workspace.h"

#include <algorithm>

/// Code shared by the reference and the fast pooling. Internal to them.
namespace rondel::kernels::pooling {

/// The elements of one axis under the window at one position.
struct Span {
  std::int64_t first, count;
  std::int64_t covered;  ///< count that includes padding, but not positions beyond the padding
};

/// One spatial axis.
struct Axis {
  WindowAxis window;
  std::int64_t in, out;
  std::int64_t step;        ///< stride of this axis in a plane of x
  std::int64_t index_step;  ///< stride of this axis in the numbering of output indices

  Span span_at(std::int64_t position) const {
    const std::int64_t start = position * window.stride - window.begin, d = window.dilation;
    const auto below = [&](std::int64_t end) {  // elements of the window before `end`
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

/// Calls f(offset in the plane, output index) for each element under the window, in row-major
/// order.
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

/// The operands and sizes of one call.
template <class T> struct Pooling {
  using Acc =
      std::conditional_t<std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>, float, T>;

  std::span<Axis> axes;
  Span* spans;
  T* packed;
  const T* x;
  T* y;
  std::int64_t* where;  ///< null: no indices are computed
  std::int64_t planes, in_size, out_size;
  bool column_major;  ///< how indices are counted
};

/// Whether v replaces `best`, the greatest element so far. NaN is greater than all numbers; of
/// equal elements, the first one stays.
template <class Acc> bool beats(Acc v, Acc best) {
  if constexpr (std::is_integral_v<Acc>) return v > best;
  else return v > best || (v != v && best == best);
}

/// Calls f as `under` does, but column by column (a column: the elements along all axes but the
/// last). Calls end() after each column.
template <class F, class End>
void under_columns(std::span<const Axis> axes, const Span* spans, const F& f, const End& end) {
  if (axes.empty()) {
    f(0, 0);
    return end();
  }
  const std::size_t last = axes.size() - 1;
  const Axis& axis = axes[last];
  for (std::int64_t i = 0; i < spans[last].count; ++i) {
    const std::int64_t at = spans[last].first + i * axis.window.dilation;
    under(axes.first(last), spans, 0, at * axis.step, at * axis.index_step, f);
    end();
  }
}

/// The reference algorithm: one window after another. Elements are visited in row-major order if
/// indices are computed, else column by column. The order decides which of 0 and -0, which are
/// equal, is the result.
template <class T> void max_by_window(StopCheck& stop, const Pooling<T>& p) {
  using Acc = typename Pooling<T>::Acc;
  std::int64_t number = 0;
  for (std::int64_t plane = 0; plane < p.planes; ++plane) {
    const T* x = p.x + plane * p.in_size;
    each_position(stop, p.axes, p.spans, 0, [&] {
      Acc best{};
      std::int64_t at = -1;
      const auto look = [&](std::int64_t offset, std::int64_t index) {
        const auto v = static_cast<Acc>(x[offset]);
        const bool wins = at < 0 || beats(v, best);
        best = wins ? v : best;
        at = wins ? index : at;
        stop.add_work(4);
      };
      if (p.where != nullptr) under(p.axes, p.spans, 0, 0, 0, look);
      else under_columns(p.axes, p.spans, look, [] {});
      p.y[number] = static_cast<T>(best);
      if (p.where != nullptr) p.where[number] = at < 0 ? -1 : plane * p.in_size + at;
      ++number;
    });
  }
}

/// The element count of a window's mean.
inline std::int64_t counted(std::span<const Span> spans, bool with_padding) {
  std::int64_t count = 1;
  for (const Span& s : spans) count *= with_padding ? s.covered : s.count;
  return count;
}

/// Sums each column of a window, then the sums of the columns.
template <class T>
void mean_by_window(StopCheck& stop, const Pooling<T>& p, bool count_include_pad) {
  using Acc = typename Pooling<T>::Acc;
  std::int64_t number = 0;
  for (std::int64_t plane = 0; plane < p.planes; ++plane) {
    const T* x = p.x + plane * p.in_size;
    each_position(stop, p.axes, p.spans, 0, [&] {
      Acc sum{}, of_column{};
      under_columns(
          p.axes, p.spans,
          [&](std::int64_t offset, std::int64_t) {
            of_column += static_cast<Acc>(x[offset]);
            stop.add_work(4);
          },
          [&] {
            sum += of_column;
            of_column = Acc{};
          });
      const std::int64_t count = counted({p.spans, p.axes.size()}, count_include_pad);
      p.y[number++] = static_cast<T>(sum / static_cast<Acc>(count));
    });
  }
}

/// A kernel that sets up a Pooling<T>, then runs `Algorithm`, which lays out its own part of the
/// workspace and computes y.
template <class T, class Algorithm> class Pool final : public SizedKernel {
 public:
  Pool(PoolSpec spec, std::size_t outputs)
      : SizedKernel(1, outputs), spec_(std::move(spec)), spatial_(spec_.window.kernel.size()) {}

  std::int64_t workspace(std::span<const Operand> o) const override {
    Workspace counted;
    Pooling<T> p;
    Algorithm algorithm;
    const auto out = o[1].given ? o[1].extents : o[2].extents;
    const Wanted wanted{o[1].given, outputs() > 1 && o[2].given};
    lay_out(counted, p, algorithm, o[0].extents, out, packing_size(o[0]), wanted);
    return counted.bytes();
  }

  Status run(Context& context, std::span<const View> v) const override {
    const std::size_t rank = spatial_ + 2;
    const auto in = extents_of(v[0], rank);
    const auto out = extents_of(v[1].data != nullptr ? v[1] : v[2], rank);
    StopCheck stop(context);
    Workspace workspace(v.back());
    Pooling<T> p;
    Algorithm algorithm;
    const Wanted wanted{v[1].data != nullptr, outputs() > 1 && v[2].data != nullptr};
    lay_out(workspace, p, algorithm, in, out, packing_size(operand_of(v[0], rank)), wanted);
    p.x = row_major(stop, v[0], rank, p.packed);
    if (wanted.y) p.y = static_cast<T*>(v[1].data);
    p.where = wanted.where ? static_cast<std::int64_t*>(v[2].data) : nullptr;
    p.planes = out[0] * out[1];
    p.in_size = product(in.subspan(2));
    p.out_size = product(out.subspan(2));
    p.column_major = spec_.column_major;
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
    if (p.out_size > 0) algorithm.run(stop, p, spec_);
    return done;
  }

 private:
  /// Which outputs are given.
  struct Wanted {
    bool y, where;
  };

  void lay_out(Workspace& w, Pooling<T>& p, Algorithm& algorithm, std::span<const std::int64_t> in,
               std::span<const std::int64_t> out, std::int64_t packing, Wanted wanted) const {
    p.axes = {w.take<Axis>(static_cast<std::int64_t>(spatial_)), spatial_};
    p.spans = w.take<Span>(static_cast<std::int64_t>(spatial_));
    p.packed = w.take<T>(packing);
    p.y = w.take<T>(wanted.y ? 0 : product(out));
    algorithm.lay_out(w, spec_, in, out, wanted.where);
  }

  PoolSpec spec_;
  std::size_t spatial_;
};

template <class T, template <class> class Algorithm>
std::shared_ptr<const SizedKernel> pool_kernel(const PoolSpec& spec, std::size_t outputs) {
  return std::make_shared<Pool<T, Algorithm<T>>>(spec, outputs);
}
template <template <class> class Algorithm>
std::shared_ptr<const SizedKernel> float_pool_kernel(const PoolSpec& spec, DType t,
                                                     std::size_t outputs) {
  std::shared_ptr<const SizedKernel> kernel;
  with_float_type(
      t, [&](auto zero) { kernel = pool_kernel<decltype(zero), Algorithm>(spec, outputs); });
  return kernel;
}

}  // namespace rondel::kernels::pooling
