#include "kernels/roi_pool.h"

#include "kernels/narrow_floats.h"
#include "kernels/views.h"
#include "kernels/workspace.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rondel::kernels {
namespace {

template <class T> using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

const char* const no_batch_element = "region {} is of batch element {}; there are {}";

/// The two elements along an axis that a sample lies between, and their weights; no elements beyond
/// the image.
template <class Acc> struct Between {
  std::int64_t low = 0, high = 0;
  Acc of_low = 0, of_high = 0;

  Between(Acc at, std::int64_t extent) {
    // NaN is outside.
    if (!(at >= -1 && at <= static_cast<Acc>(extent)) || extent == 0) return;
    at = std::max(at, Acc(0));
    low = std::min(static_cast<std::int64_t>(at), extent - 1);
    high = std::min(low + 1, extent - 1);
    of_high = low == extent - 1 ? Acc(0) : at - static_cast<Acc>(low);
    of_low = 1 - of_high;
  }
};

template <class T> class RoiAlignKernel final : public SizedKernel {
 public:
  explicit RoiAlignKernel(const RoiAlign& spec)
      : SizedKernel(3, 1, {no_batch_element}), spec_(spec) {}

  std::int64_t workspace(std::span<const Operand>) const override { return 0; }

  Status run(Context& context, std::span<const View> v) const override {
    StopCheck stop(context);
    const View &x = v[0], &rois = v[1], &batch = v[2];
    T* y = static_cast<T*>(v[3].data);
    for (std::int64_t r = 0; r < rois.extents[0]; ++r) {
      const std::int64_t n = static_cast<const std::int64_t*>(batch.data)[r * batch.strides[0]];
      if (n < 0 || n >= x.extents[0]) return failed(context, 0, {r, n, x.extents[0]});
      const Region region(spec_, rois, r);
      for (std::int64_t c = 0; c < x.extents[1]; ++c) {
        const T* plane = static_cast<const T*>(x.data) + n * x.strides[0] + c * x.strides[1];
        for (std::int64_t i = 0; i < spec_.height; ++i)
          for (std::int64_t j = 0; j < spec_.width; ++j)
            *y++ = static_cast<T>(bin(stop, x, plane, region, i, j));
      }
    }
    return done;
  }

 private:
  using Acc = Wide<T>;
  /// Where the bins of a region are.
  struct Region {
    Acc left, top, bin_width, bin_height;
    std::int64_t rows, columns;  ///< samples of a bin

    Region(const RoiAlign& spec, const View& rois, std::int64_t r) {
      const auto scale = static_cast<Acc>(spec.scale);
      const Acc offset = spec.half_pixel ? Acc(0.5) : Acc(0);
      const auto corner = [&](std::int64_t k) {
        const T* row = static_cast<const T*>(rois.data) + r * rois.strides[0];
        return static_cast<Acc>(row[k * rois.strides[1]]) * scale - offset;
      };
      left = corner(0), top = corner(1);
      Acc width = corner(2) - left, height = corner(3) - top;
      if (!spec.half_pixel) width = std::max(width, Acc(1)), height = std::max(height, Acc(1));
      bin_width = width / static_cast<Acc>(spec.width);
      bin_height = height / static_cast<Acc>(spec.height);
      rows = spec.samples > 0 ? spec.samples : count(bin_height);
      columns = spec.samples > 0 ? spec.samples : count(bin_width);
    }
    static std::int64_t count(Acc size) {
      if (!(size > 0)) return 0;
      return static_cast<std::int64_t>(std::min(std::ceil(size), Acc(1 << 24)));
    }
  };

  Acc bin(StopCheck& stop, const View& x, const T* plane, const Region& r, std::int64_t i,
          std::int64_t j) const {
    const auto at = [](Acc first, Acc size, std::int64_t bin, std::int64_t k, std::int64_t count) {
      return first + static_cast<Acc>(bin) * size +
             (static_cast<Acc>(k) + Acc(0.5)) * size / static_cast<Acc>(count);
    };
    Acc sum = 0, greatest = std::numeric_limits<Acc>::lowest();
    for (std::int64_t a = 0; a < r.rows; ++a) {
      const Between<Acc> row(at(r.top, r.bin_height, i, a, r.rows), x.extents[2]);
      for (std::int64_t b = 0; b < r.columns; ++b) {
        const Between<Acc> column(at(r.left, r.bin_width, j, b, r.columns), x.extents[3]);
        const auto term = [&](std::int64_t h, std::int64_t w, Acc weight) {
          if (x.extents[2] == 0 || x.extents[3] == 0) return Acc(0);
          return weight * static_cast<Acc>(plane[h * x.strides[2] + w * x.strides[3]]);
        };
        const Acc terms[] = {term(row.low, column.low, row.of_low * column.of_low),
                             term(row.low, column.high, row.of_low * column.of_high),
                             term(row.high, column.low, row.of_high * column.of_low),
                             term(row.high, column.high, row.of_high * column.of_high)};
        sum += terms[0] + terms[1] + terms[2] + terms[3];
        for (const Acc t : terms) greatest = std::max(greatest, t);
        stop.add_work(8);
      }
    }
    stop.add_work(4);
    const std::int64_t count = r.rows * r.columns;
    if (spec_.mean) return sum / static_cast<Acc>(std::max<std::int64_t>(count, 1));
    return count == 0 ? Acc(0) : greatest;
  }

  RoiAlign spec_;
};

template <class T> class MaxRoiPoolKernel final : public SizedKernel {
 public:
  MaxRoiPoolKernel(std::int64_t height, std::int64_t width, double scale)
      : SizedKernel(2, 1, {no_batch_element}), height_(height), width_(width),
        scale_(static_cast<Acc>(scale)) {}

  std::int64_t workspace(std::span<const Operand>) const override { return 0; }

  Status run(Context& context, std::span<const View> v) const override {
    StopCheck stop(context);
    const View &x = v[0], &rois = v[1];
    T* y = static_cast<T*>(v[2].data);
    for (std::int64_t r = 0; r < rois.extents[0]; ++r) {
      const std::int64_t n = whole(number(rois, r, 0));
      if (n < 0 || n >= x.extents[0]) return failed(context, 0, {r, n, x.extents[0]});
      const Bins columns(corner(rois, r, 1), corner(rois, r, 3), width_, x.extents[3]);
      const Bins rows(corner(rois, r, 2), corner(rois, r, 4), height_, x.extents[2]);
      for (std::int64_t c = 0; c < x.extents[1]; ++c) {
        const T* plane = static_cast<const T*>(x.data) + n * x.strides[0] + c * x.strides[1];
        for (std::int64_t i = 0; i < height_; ++i)
          for (std::int64_t j = 0; j < width_; ++j)
            *y++ = greatest(stop, x, plane, rows, i, columns, j);
      }
    }
    return done;
  }

 private:
  using Acc = Wide<T>;
  /// The bins of a region along one axis.
  struct Bins {
    std::int64_t first, extent;
    Acc size;
    Bins(std::int64_t from, std::int64_t to, std::int64_t count, std::int64_t e)
        : first(from), extent(e), size(static_cast<Acc>(std::max<std::int64_t>(to - from + 1, 1)) /
                                       static_cast<Acc>(count)) {}
    std::int64_t begin(std::int64_t k) const {
      return clamped(std::floor(static_cast<Acc>(k) * size));
    }
    std::int64_t end(std::int64_t k) const {
      return clamped(std::ceil(static_cast<Acc>(k + 1) * size));
    }
    std::int64_t clamped(Acc offset) const {
      return std::clamp<std::int64_t>(whole(offset) + first, 0, extent);
    }
  };

  /// A number as an integer that sums with others do not overflow; NaN gives a negative one.
  static std::int64_t whole(Acc a) {
    constexpr auto most = static_cast<Acc>(std::int64_t{1} << 40);
    return a >= -most ? static_cast<std::int64_t>(std::min(a, most)) : -(std::int64_t{1} << 40);
  }
  static Acc number(const View& rois, std::int64_t r, std::int64_t k) {
    return static_cast<Acc>(
        static_cast<const T*>(rois.data)[r * rois.strides[0] + k * rois.strides[1]]);
  }
  std::int64_t corner(const View& rois, std::int64_t r, std::int64_t k) const {
    return whole(std::round(number(rois, r, k) * scale_));
  }

  T greatest(StopCheck& stop, const View& x, const T* plane, const Bins& rows, std::int64_t i,
             const Bins& columns, std::int64_t j) const {
    Acc best = 0;
    bool any = false;
    for (std::int64_t h = rows.begin(i); h < rows.end(i); ++h)
      for (std::int64_t w = columns.begin(j); w < columns.end(j); ++w) {
        const auto v = static_cast<Acc>(plane[h * x.strides[2] + w * x.strides[3]]);
        if (!any || v > best || std::isnan(v)) best = v;
        any = true;
        stop.add_work(1);
        if (std::isnan(v)) return static_cast<T>(v);
      }
    stop.add_work(4);
    return static_cast<T>(best);
  }

  std::int64_t height_, width_;
  Acc scale_;
};

}  // namespace

std::shared_ptr<const SizedKernel> roi_align(const RoiAlign& spec, DType t) {
  std::shared_ptr<const SizedKernel> kernel;
  with_float_type(
      t, [&](auto zero) { kernel = std::make_shared<RoiAlignKernel<decltype(zero)>>(spec); });
  return kernel;
}

std::shared_ptr<const SizedKernel> max_roi_pool(std::int64_t height, std::int64_t width,
                                                double scale, DType t) {
  std::shared_ptr<const SizedKernel> kernel;
  with_float_type(t, [&](auto zero) {
    kernel = std::make_shared<MaxRoiPoolKernel<decltype(zero)>>(height, width, scale);
  });
  return kernel;
}

}  // namespace rondel::kernels
