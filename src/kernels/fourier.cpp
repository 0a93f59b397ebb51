#include "kernels/fourier.h"

#include "kernels/complex_transform.h"
#include "kernels/narrow_floats.h"
#include "kernels/views.h"

#include <algorithm>

namespace rondel::kernels {
namespace {

template <class T> class FourierKernel final : public SizedKernel {
 public:
  FourierKernel(const Fourier& spec, DType length, std::size_t rank)
      : SizedKernel(3, 1,
                    {"the result has {} elements along axis {}; a transform of {} elements gives "
                     "another number",
                     "axis {} of a tensor of rank {}; expected an axis before the last one"}),
        spec_(spec), length_(length), rank_(rank) {}

  std::int64_t workspace(std::span<const Operand> o) const override {
    // The axis is a value, which is not known yet, unless it is omitted.
    const std::size_t last = rank_ - 1, first = o[2].given ? 0 : rank_ - 2;
    std::int64_t bytes = 0;
    for (std::size_t a = first; a < last; ++a) {
      const std::int64_t out = o[3].extents[a];
      const bool halved = spec_.onesided && !spec_.inverse;
      for (const std::int64_t n : {halved ? 2 * out - 2 : out, halved ? 2 * out - 1 : out}) {
        if (n < 1) continue;
        Workspace counted;
        Buffers().lay_out(counted, n);
        bytes = std::max(bytes, counted.bytes());
      }
    }
    return bytes;
  }

  Status run(Context& context, std::span<const View> v) const override {
    const auto rank = static_cast<std::int64_t>(rank_);
    std::int64_t axis = v[2].data != nullptr ? *static_cast<const std::int64_t*>(v[2].data) : -2;
    if (axis < -rank || axis >= rank - 1 || axis == -1) return failed(context, 1, {axis, rank});
    if (axis < 0) axis += rank;
    const std::int64_t in = v[0].extents[axis], out = v[3].extents[axis];
    const std::int64_t n = length_of(v[1], in);
    const std::int64_t expected = spec_.onesided && !spec_.inverse ? n / 2 + 1 : n;
    if (n < 1 || out != expected) return failed(context, 0, {out, axis, n});
    StopCheck stop(context);
    Workspace workspace(v.back());
    Buffers buffers;
    buffers.lay_out(workspace, n);
    buffers.transform.prepare(stop);
    each_line(stop, v, axis, buffers, n);
    return done;
  }

 private:
  using Acc = double;
  struct Buffers {
    Transform<Acc> transform;
    Complex<Acc>* line = nullptr;
    void lay_out(Workspace& w, std::int64_t n) {
      transform.lay_out(w, n);
      line = w.take<Complex<Acc>>(n);
    }
  };

  std::int64_t length_of(const View& given, std::int64_t in) const {
    if (given.data == nullptr) return spec_.onesided && spec_.inverse ? 2 * (in - 1) : in;
    if (length_ == DType::i32) return *static_cast<const std::int32_t*>(given.data);
    return *static_cast<const std::int64_t*>(given.data);
  }

  /// Calls the transform for each position on the axes other than `axis` and the last one.
  void each_line(StopCheck& stop, std::span<const View> v, std::int64_t axis, const Buffers& b,
                 std::int64_t n) const {
    const View &x = v[0], &y = v[3];
    std::int64_t lines = 1;
    for (std::int64_t a = 0; a + 1 < static_cast<std::int64_t>(rank_); ++a)
      if (a != axis) lines *= x.extents[a];
    for (std::int64_t line = 0; line < lines; ++line) {
      std::int64_t rest = line, from = 0, to = 0, step = y.extents[rank_ - 1];
      for (std::int64_t a = static_cast<std::int64_t>(rank_) - 2; a >= 0; --a) {
        if (a != axis) {
          const std::int64_t at = rest % x.extents[a];
          rest /= x.extents[a];
          from += at * x.strides[a];
          to += at * step;
        }
        step *= y.extents[a];
      }
      transform(stop, static_cast<const T*>(x.data) + from, x, static_cast<T*>(y.data) + to, y,
                axis, b, n);
    }
  }

  void transform(StopCheck& stop, const T* from, const View& x, T* to, const View& y,
                 std::int64_t axis, const Buffers& b, std::int64_t n) const {
    read(from, x, axis, b.line, n);
    if (spec_.inverse && spec_.onesided) mirror(b.line, n);
    if (spec_.inverse) conjugate(b.line, n);
    const Complex<Acc>* result = b.transform.run(stop, b.line);
    const std::int64_t parts = y.extents[rank_ - 1], count = y.extents[axis];
    std::int64_t step = parts;
    for (std::size_t a = rank_ - 2; static_cast<std::int64_t>(a) > axis; --a) step *= y.extents[a];
    const Acc scale = spec_.inverse ? Acc(1) / static_cast<Acc>(n) : Acc(1);
    const Acc sign = spec_.inverse ? -scale : scale;
    for (std::int64_t k = 0; k < count; ++k) {
      to[k * step] = rounded(result[k].re * scale);
      if (parts == 2) to[k * step + 1] = rounded(result[k].im * sign);
    }
    stop.add_work(2 * n);
  }

  static T rounded(double v) {
    if constexpr (std::is_floating_point_v<T>) return static_cast<T>(v);
    else return T(static_cast<float>(v));
  }

  /// Reads a signal, cut or continued with zeros.
  void read(const T* from, const View& x, std::int64_t axis, Complex<Acc>* line,
            std::int64_t n) const {
    const std::int64_t stored = spec_.inverse && spec_.onesided ? n / 2 + 1 : n;
    const std::int64_t count = std::min(x.extents[axis], stored), step = x.strides[axis];
    const bool is_complex = x.extents[rank_ - 1] == 2;
    const std::int64_t part = x.strides[rank_ - 1];
    for (std::int64_t k = 0; k < count; ++k) {
      const T* at = from + k * step;
      line[k] = {static_cast<Acc>(*at), is_complex ? static_cast<Acc>(at[part]) : Acc(0)};
    }
    for (std::int64_t k = count; k < n; ++k) line[k] = {};
  }
  /// Completes the first half of a spectrum to the whole spectrum of a real signal.
  static void mirror(Complex<Acc>* line, std::int64_t n) {
    line[0].im = 0;
    if (n % 2 == 0) line[n / 2].im = 0;
    for (std::int64_t k = n / 2 + 1; k < n; ++k) line[k] = line[n - k].conjugate();
  }
  static void conjugate(Complex<Acc>* line, std::int64_t n) {
    for (std::int64_t k = 0; k < n; ++k) line[k] = line[k].conjugate();
  }

  Fourier spec_;
  DType length_;
  std::size_t rank_;
};

}  // namespace

std::shared_ptr<const SizedKernel> fourier(const Fourier& spec, DType x, DType length,
                                           std::size_t rank) {
  std::shared_ptr<const SizedKernel> kernel;
  with_float_type(x, [&](auto zero) {
    kernel = std::make_shared<FourierKernel<decltype(zero)>>(spec, length, rank);
  });
  return kernel;
}

}  // namespace rondel::kernels
