#include "kernels/integer_conv.h"

#include "kernels/byte_product.h"
#include "kernels/convolution.h"
#include "kernels/views.h"

#include <algorithm>

namespace rondel::kernels {
namespace {

using convolution::Axis;

/// The operands and sizes of one call.
struct ByteOperands {
  Bytes x, w;
  Bytes w_zeros;  ///< null: all are 0
  std::int32_t x_zero;
  bool zero_per_map;
  std::int32_t* y;
  std::span<Axis> axes;
  std::int64_t images, groups, channels, maps;  ///< input and output channels of one group
  std::int64_t in_size, out_size, window_size;  ///< elements of a plane of x, of y, of w
  bool whole_planes;  ///< the window has one element and reads each plane of x as it is

  /// Whether y has no elements, so that nothing is computed, whatever the other extents are.
  bool is_empty() const { return images == 0 || groups == 0 || maps == 0 || out_size == 0; }
  std::int64_t elements() const { return channels * window_size; }
  std::int32_t w_zero(std::int64_t map) const {
    return w_zeros.data == nullptr ? 0 : w_zeros[zero_per_map ? map : 0];
  }
  Bytes group_of_x(std::int64_t image, std::int64_t group) const {
    return x + (image * groups + group) * channels * in_size;
  }
  std::int32_t* group_of_y(std::int64_t image, std::int64_t group) const {
    return y + (image * groups + group) * maps * out_size;
  }
};

/// The element of a plane of x that an element of the window reads at an output position; -1 if it
/// is padding. The first `axes` axes are used: if the last is left out, the row is found.
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

/// The kernels of a group times a matrix with one row per element of the window and one column per
/// output position. Only blocks of some columns of this matrix exist at a time.
struct TiledIntegerConv {
  CenteredRows rows;
  std::uint8_t* block = nullptr;
  std::int32_t* zeros = nullptr;
  std::int16_t* panel = nullptr;
  std::int64_t at_once = 0;
  bool in_place = false;  ///< the matrix is x itself

  void lay_out(Workspace& w, const ByteOperands& o) {
    constexpr std::int64_t block_bytes = 1 << 16, panel_columns = 16;
    in_place = o.whole_planes;
    const std::int64_t fitting = block_bytes / std::max<std::int64_t>(o.elements(), 1);
    at_once = in_place ? o.out_size
                       : std::min(o.out_size, std::max(fitting / panel_columns, std::int64_t{1}) *
                                                  panel_columns);
    rows.count = o.groups * o.maps;
    rows.depth = o.elements();
    rows.lay_out(w);
    block = w.take<std::uint8_t>(in_place ? 0 : at_once * o.elements());
    zeros = w.take<std::int32_t>(at_once);
    panel = w.take<std::int16_t>(panel_size(o.elements()));
  }

  void run(StopCheck& stop, const ByteOperands& o) {
    for (std::int64_t m = 0; m < rows.count; ++m, stop.add_work(rows.depth / 8 + 4))
      rows.fill(m, o.w + m * rows.depth, o.w_zero(m));
    std::fill_n(zeros, at_once, o.x_zero);
    for (std::int64_t image = 0; image < o.images; ++image)
      for (std::int64_t group = 0; group < o.groups; ++group)
        for (std::int64_t first = 0; first < o.out_size; first += at_once)
          columns(stop, o, image, group, first, std::min(at_once, o.out_size - first));
  }

 private:
  void columns(StopCheck& stop, const ByteOperands& o, std::int64_t image, std::int64_t group,
               std::int64_t first, std::int64_t count) {
    const Bytes x = o.group_of_x(image, group);
    CenteredRows own = rows;
    own.count = o.maps;
    own.elements += group * o.maps * rows.step();
    own.sums += group * o.maps;
    if (!in_place) gather(stop, o, static_cast<const std::uint8_t*>(x.data), first, count);
    const Bytes matrix = in_place ? x : Bytes{block, x.is_signed};
    multiply_bytes(stop, own, matrix, in_place ? o.in_size : count, count, zeros,
                   o.group_of_y(image, group) + first, o.out_size, panel);
  }

  /// Fills the block with what the elements of the window read at some output positions.
  void gather(StopCheck& stop, const ByteOperands& o, const std::uint8_t* x, std::int64_t first,
              std::int64_t count) const {
    const Axis& row = o.axes.back();
    const auto others = o.axes.first(o.axes.size() - 1);
    std::uint8_t* to = block;
    for (std::int64_t k = 0; k < o.elements(); ++k, stop.add_work(count / 8 + 8)) {
      const std::int64_t element = k % o.window_size;
      const std::uint8_t* plane = x + k / o.window_size * o.in_size;
      const std::int64_t at = element % row.window.kernel * row.window.dilation - row.window.begin;
      std::int64_t place = first % row.out, number = first / row.out;
      for (std::int64_t done = 0; done < count; place = 0, ++number) {
        const std::int64_t n = std::min(row.out - place, count - done);
        const std::int64_t found = place_in_x(others, number, element / row.window.kernel);
        gather_bytes(to, n, found < 0 ? nullptr : plane + found * row.in,
                     place * row.window.stride + at, row, static_cast<std::uint8_t>(o.x_zero));
        to += n;
        done += n;
      }
    }
  }

  static void gather_bytes(std::uint8_t* to, std::int64_t count, const std::uint8_t* row,
                           std::int64_t at, const Axis& axis, std::uint8_t padding) {
    if (row == nullptr) return static_cast<void>(std::fill_n(to, count, padding));
    const std::int64_t step = axis.window.stride;
    const Inside in = inside(at, step, axis.in, count);
    std::fill(to, to + in.from, padding);
    if (step == 1) std::copy(row + (at + in.from), row + (at + in.to), to + in.from);
    else
      for (std::int64_t i = in.from; i < in.to; ++i) to[i] = row[at + i * step];
    std::fill(to + in.to, to + count, padding);
  }
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
    set_axes(all, o);
    Algorithm algorithm;
    algorithm.lay_out(workspace, all);
    all.x = {row_major(stop, v[0], spec_.rank, packing.bytes[0]), spec_.is_signed[0]};
    all.w = {row_major(stop, v[1], spec_.rank, packing.bytes[1]), spec_.is_signed[1]};
    all.x_zero = o[2].given ? Bytes{v[2].data, spec_.is_signed[0]}[0] : 0;
    all.w_zeros = {
        o[3].given ? row_major(stop, v[3], spec_.zero_rank[1], packing.bytes[2]) : nullptr,
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
  };
  BytePacking lay_out(Workspace& w, std::span<const Operand> o) const {
    return {w.take<Axis>(static_cast<std::int64_t>(axes_)),
            {w.take<std::uint8_t>(packing_size(o[0])), w.take<std::uint8_t>(packing_size(o[1])),
             w.take<std::uint8_t>(packing_size(o[3]))}};
  }

  ByteOperands sizes(std::span<const Operand> o) const {
    const auto x = o[0].extents, w = o[1].extents, y = o[4].extents;
    ByteOperands all{};
    all.images = x[0];
    all.groups = spec_.conv.groups;
    all.channels = w[1];
    all.maps = w[0] / all.groups;
    all.in_size = product(x.subspan(2));
    all.out_size = product(y.subspan(2));
    all.window_size = product(w.subspan(2));
    all.whole_planes = all.window_size == 1;
    for (std::size_t a = 0; a + 2 < spec_.rank; ++a) {
      const Axis axis = axis_at(o, a);
      all.whole_planes = all.whole_planes && axis.window.stride == 1 && axis.window.begin == 0 &&
                         axis.in == axis.out;
    }
    return all;
  }

  Axis axis_at(std::span<const Operand> o, std::size_t a) const {
    const std::int64_t in = o[0].extents[a + 2];
    return {axis_of(spec_.conv.window, a, in, o[1].extents[a + 2]), in, o[4].extents[a + 2]};
  }
  void set_axes(const ByteOperands& all, std::span<const Operand> o) const {
    all.axes[0] = {{}, 1, 1};
    for (std::size_t a = 0; a + 2 < spec_.rank; ++a) all.axes[a] = axis_at(o, a);
  }

  IntegerConv spec_;
  std::size_t axes_;
};

}  // namespace

std::shared_ptr<const SizedKernel> integer_conv(const IntegerConv& spec) {
  return std::make_shared<IntegerConvKernel<PlainIntegerConv>>(spec);
}
std::shared_ptr<const SizedKernel> fast_integer_conv(const IntegerConv& spec) {
  return std::make_shared<IntegerConvKernel<TiledIntegerConv>>(spec);
}

}  // namespace rondel::kernels
