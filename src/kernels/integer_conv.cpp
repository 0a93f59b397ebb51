#include "kernels/integer_conv.h"

#include "kernels/im2col.h"
#include "kernels/packing_kernel.h"
#include "kernels/quads.h"

#include <algorithm>

namespace rondel::kernels {
namespace {

using namespace convolution;

/// The operands and sizes of one call.
struct ByteOperands : Sizes {
  Bytes x, w;
  const Quad* packed_w;  ///< w, if it is packed
  Bytes w_zeros;
  bool is_packed, has_w_zeros, zero_per_map;
  std::int32_t x_zero;
  std::int32_t* y;

  std::int64_t elements() const { return channels * window_size; }
  std::int32_t w_zero(std::int64_t map) const {
    return has_w_zeros ? w_zeros[zero_per_map ? map : 0] : 0;
  }
  Bytes group_of_x(std::int64_t image, std::int64_t group) const {
    return x + (image * groups + group) * channels * in_size;
  }
  std::int32_t* group_of_y(std::int64_t image, std::int64_t group) const {
    return y + (image * groups + group) * maps * out_size;
  }
};

/// The element of a plane of x that an element of the window reads at an output position; -1 if it
/// is padding.
std::int64_t place_in_x(std::span<const Axis> axes, std::int64_t position, std::int64_t element) {
  std::int64_t at = 0, step = 1;
  for (std::size_t a = axes.size(); a-- > 0;) {
    const Axis& axis = axes[a];
    const std::int64_t here = position % axis.out * axis.window.stride +
                              element % axis.window.kernel * axis.window.dilation -
                              axis.window.begin;
    if (here < 0 || here >= axis.in) return -1;
    at += here * step;
    step *= axis.in;
    position /= axis.out;
    element /= axis.window.kernel;
  }
  return at;
}

struct PlainIntegerConv {
  void lay_out(Workspace&, const ByteOperands&) {}
  void run(StopCheck& stop, const ByteOperands& o) {
    for (std::int64_t image = 0; image < o.images; ++image)
      for (std::int64_t map = 0; map < o.groups * o.maps; ++map)
        for (std::int64_t p = 0; p < o.out_size; ++p, stop.add_work(o.elements() * 4 + 4))
          o.group_of_y(image, 0)[map * o.out_size + p] = element(o, image, map, p);
  }

 private:
  static std::int32_t element(const ByteOperands& o, std::int64_t image, std::int64_t map,
                              std::int64_t position) {
    const Bytes x = o.group_of_x(image, map / o.maps), w = o.w + map * o.elements();
    const std::int32_t w_zero = o.w_zero(map);
    std::uint32_t sum = 0;
    for (std::int64_t k = 0; k < o.elements(); ++k) {
      const std::int64_t at = place_in_x(o.axes, position, k % o.window_size);
      if (at < 0) continue;
      const std::int32_t value = x[k / o.window_size * o.in_size + at] - o.x_zero;
      sum += static_cast<std::uint32_t>(value * (w[k] - w_zero));
    }
    return static_cast<std::int32_t>(sum);
  }
};

/// Quads of the elements of `channels` planes, of `size` elements each; row `quad` of them.
void quads_of_planes(const std::uint8_t* planes, std::int64_t channels, std::int64_t size,
                     std::int64_t quad, bool change_sign, Quad* to) {
  std::array<const std::uint8_t*, 4> rows{};
  for (std::int64_t k = 4 * quad; k < std::min(4 * quad + 4, channels); ++k)
    rows[static_cast<std::size_t>(k % 4)] = planes + k * size;
  quads_of_rows(rows, size, change_sign, to);
}

/// Quads of the weights of one output channel.
void quads_of_weights(Bytes w, std::int64_t channels, std::int64_t window_size, Quad* to) {
  if (window_size == 1) return quads_of_row(w.bytes(), channels, !w.is_signed, to);
  for (std::int64_t q = 0; q < quads_of(channels); ++q)
    quads_of_planes(w.bytes(), channels, window_size, q, !w.is_signed, to + q * window_size);
}

/// The convolution of quads of channels, image by image. With elements x and w as u8 and i8, of n
/// elements of a window:
///     sum((x - x_zero) * (w - w_zero)) = start - w_zero * sum(x) + sum(x * w),
///     start = (n * w_zero - sum(w)) * x_zero,
/// where sum(x) is a convolution with ones, if there are zero points. Padding is x_zero.
class QuadIntegerConv {
 public:
  void lay_out(Workspace& w, const ByteOperands& o) {
    sizes_ = o;
    sizes_.images = 1;
    sizes_.channels = quads_of(o.channels);
    threads_ = o.groups * sizes_.channels * o.in_size < least_parallel ? 1 : thread_count();
    x_ = w.take<Quad>(o.groups * sizes_.channels * o.in_size);
    w_ = w.take<Quad>(o.is_packed ? 0 : o.groups * o.maps * elements());
    start_ = w.take<std::int32_t>(o.groups * o.maps);
    ones_ = w.take<Quad>(o.groups * elements());
    conv_.lay_out(w, sizes_);
    if (!may_have_zeros(o)) return;
    sums_ = w.take<std::int32_t>(o.groups * o.out_size);
    conv_with_ones_.lay_out(w, with_ones());
  }

  void run(StopCheck& stop, const ByteOperands& o) {
    sizes_.axes = o.axes;
    const std::int32_t x_zero = o.x_zero + added_as_u8(o.x);
    const Quad* w = o.is_packed ? o.packed_w : quads_of_all_weights(stop, o);
    fill_ones(o);
    const bool has_zeros = fill_start(stop, o, w, x_zero);
    Convolution<Quad> c{sizes_, x_, w, start_, o.y, quad_of(x_zero)};
    for (std::int64_t image = 0; image < o.images; ++image) {
      fill_image(stop, o, image);
      c.y = o.group_of_y(image, 0);
      conv_.run(stop, c);
      if (has_zeros) take_off_zeros(stop, o, c);
    }
  }

 private:
  /// With fewer quads than this, one thread is faster than several.
  static constexpr std::int64_t least_parallel = std::int64_t{1} << 16;

  static bool may_have_zeros(const ByteOperands& o) { return o.has_w_zeros || !o.w.is_signed; }
  static std::int32_t w_zero(const ByteOperands& o, std::int64_t map) {
    return o.w_zero(map) + added_as_i8(o.w);
  }
  std::int64_t elements() const { return sizes_.channels * sizes_.window_size; }
  Sizes with_ones() const {
    Sizes one_map = sizes_;
    one_map.maps = 1;
    return one_map;
  }

  const Quad* quads_of_all_weights(StopCheck& stop, const ByteOperands& o) const {
    for (std::int64_t m = 0; m < o.groups * o.maps; ++m, stop.add_work(o.elements() / 4 + 8))
      quads_of_weights(o.w + m * o.elements(), o.channels, o.window_size, w_ + m * elements());
    return w_;
  }

  /// Ones in all channels that exist.
  void fill_ones(const ByteOperands& o) const {
    for (std::int64_t k = 0; k < o.groups * elements(); ++k) {
      const std::int64_t quad = k % elements() / o.window_size;
      quads_of_ones(std::min<std::int64_t>(4, o.channels - 4 * quad), ones_ + k);
    }
  }

  /// Whether some zero point is not 0.
  bool fill_start(StopCheck& stop, const ByteOperands& o, const Quad* w, std::int32_t x_zero) {
    const std::int64_t n = o.elements();
    bool has_zeros = false;
    std::fill_n(start_, o.groups * o.maps, 0);
    for (std::int64_t m = 0; m < o.groups * o.maps; ++m, stop.add_work(n / 64 + 8)) {
      add_dots<Quad>({1, w + m * elements(), elements(), nullptr}, ones_, elements(), start_ + m,
                     1);
      const std::int64_t zero = w_zero(o, m);
      const auto all = static_cast<std::uint64_t>(n * zero - start_[m]);
      start_[m] = static_cast<std::int32_t>(all * static_cast<std::uint64_t>(x_zero));
      has_zeros = has_zeros || zero != 0;
    }
    return has_zeros;
  }

  void fill_image(StopCheck& stop, const ByteOperands& o, std::int64_t image) const {
    parallel_for(stop, threads_, o.groups * sizes_.channels,
                 [&](StopCheck& own, std::int64_t unit, int) {
                   const std::int64_t group = unit / sizes_.channels;
                   quads_of_planes(o.group_of_x(image, group).bytes(), o.channels, o.in_size,
                                   unit % sizes_.channels, o.x.is_signed, x_ + unit * o.in_size);
                   own.add_work(o.in_size / 4 + 8);
                 });
  }

  void take_off_zeros(StopCheck& stop, const ByteOperands& o, const Convolution<Quad>& c) {
    conv_with_ones_.run(stop, {with_ones(), x_, ones_, nullptr, sums_, c.padding});
    for (std::int64_t m = 0; m < o.groups * o.maps; ++m, stop.add_work(o.out_size / 8 + 8))
      with_vectors([zero = static_cast<std::uint32_t>(w_zero(o, m)), n = o.out_size,
                    sums = sums_ + m / o.maps * o.out_size, y = c.y + m * o.out_size] {
        for (std::int64_t p = 0; p < n; ++p)
          y[p] = static_cast<std::int32_t>(static_cast<std::uint32_t>(y[p]) -
                                           zero * static_cast<std::uint32_t>(sums[p]));
      });
  }

  Sizes sizes_{};  ///< of one image of quads
  int threads_ = 1;
  Im2col<Quad> conv_, conv_with_ones_;
  Quad *x_ = nullptr, *w_ = nullptr;
  Quad* ones_ = nullptr;           ///< the weights of one output channel of each group
  std::int32_t* start_ = nullptr;  ///< by output channel
  std::int32_t* sums_ = nullptr;   ///< of each group, by output position
};

template <class Algorithm> class IntegerConvKernel final : public SizedKernel {
 public:
  explicit IntegerConvKernel(const IntegerConv& spec)
      : SizedKernel(4, 1), spec_(spec), axes_(std::max<std::size_t>(spec.rank, 3) - 2) {}

  std::int64_t workspace(std::span<const Operand> o) const override {
    Workspace counted;
    const ByteOperands all = sizes(o);
    lay_out(counted, o);
    if (!all.is_empty()) Algorithm().lay_out(counted, all);
    return counted.bytes();
  }

  Status run(Context& context, std::span<const View> v) const override {
    const std::array<std::size_t, 5> ranks{spec_.rank, spec_.rank, spec_.zero_rank[0],
                                           spec_.zero_rank[1], spec_.rank};
    std::array<Operand, 5> o;
    for (std::size_t k = 0; k < o.size(); ++k) o[k] = operand_of(v[k], ranks[k]);
    StopCheck stop(context);
    Workspace workspace(v.back());
    const BytePacking packing = lay_out(workspace, o);
    ByteOperands all = sizes(o);
    all.axes = {packing.axes, axes_};
    if (all.is_empty()) return done;
    set_axes(all, spec_.conv, o[0].extents, o[1].extents, o[4].extents);
    Algorithm algorithm;
    algorithm.lay_out(workspace, all);
    all.x = {row_major(stop, v[0], spec_.rank, packing.bytes[0]), spec_.is_signed[0]};
    if (all.is_packed) all.packed_w = row_major(stop, v[1], spec_.rank, packing.packed_w);
    else all.w.data = row_major(stop, v[1], spec_.rank, packing.bytes[1]);
    all.x_zero = o[2].given ? Bytes{v[2].data, spec_.is_signed[0]}[0] : 0;
    if (all.has_w_zeros)
      all.w_zeros = {row_major(stop, v[3], spec_.zero_rank[1], packing.bytes[2]),
                     spec_.is_signed[1]};
    all.zero_per_map = o[3].given && product(o[3].extents) > 1;
    all.y = static_cast<std::int32_t*>(v[4].data);
    algorithm.run(stop, all);
    return done;
  }

 private:
  struct BytePacking {
    Axis* axes;
    std::array<std::uint8_t*, 3> bytes;  ///< x, w, and the zero points of w
    Quad* packed_w;
  };
  BytePacking lay_out(Workspace& w, std::span<const Operand> o) const {
    return {w.take<Axis>(static_cast<std::int64_t>(axes_)),
            {w.take<std::uint8_t>(packing_size(o[0])),
             w.take<std::uint8_t>(is_packed() ? 0 : packing_size(o[1])),
             w.take<std::uint8_t>(packing_size(o[3]))},
            w.take<Quad>(is_packed() ? packing_size(o[1]) : 0)};
  }

  bool is_packed() const { return spec_.packed_channels >= 0; }

  ByteOperands sizes(std::span<const Operand> o) const {
    ByteOperands all{};
    static_cast<Sizes&>(all) = sizes_of(spec_.conv, o[0].extents, o[1].extents, o[4].extents);
    all.axes = {static_cast<Axis*>(nullptr), axes_};
    if (is_packed()) all.channels = spec_.packed_channels;
    all.is_packed = is_packed();
    all.x.is_signed = spec_.is_signed[0];
    all.w.is_signed = spec_.is_signed[1];
    all.has_w_zeros = o[3].given;
    return all;
  }

  IntegerConv spec_;
  std::size_t axes_;
};

}  // namespace

std::shared_ptr<const SizedKernel> integer_conv(const IntegerConv& spec) {
  return std::make_shared<IntegerConvKernel<PlainIntegerConv>>(spec);
}
std::shared_ptr<const SizedKernel> fast_integer_conv(const IntegerConv& spec) {
  return std::make_shared<IntegerConvKernel<QuadIntegerConv>>(spec);
}

std::shared_ptr<const SizedKernel> pack_weights(bool is_signed, std::size_t rank) {
  return packing_kernel(rank, [=](StopCheck& stop, const std::uint8_t* w,
                                  std::span<const std::int64_t> extents, Quad* to) {
    const std::int64_t channels = extents[1], window_size = product(extents.subspan(2));
    for (std::int64_t m = 0; m < extents[0]; ++m, stop.add_work(channels * window_size + 8))
      quads_of_weights(Bytes{w, is_signed} + m * channels * window_size, channels, window_size,
                       to + m * quads_of(channels) * window_size);
  });
}

}  // namespace rondel::kernels
