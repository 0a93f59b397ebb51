#include "kernels/conv.h"
#include "kernels/convolution.h"
#include "kernels/narrow_floats.h"
#include "kernels/parallel_for.h"
#include "kernels/product_tile.h"
#include "kernels/threads.h"
#include "kernels/widened_conv.h"
#include "kernels/window_row.h"

#include <algorithm>
#include <cmath>
#include <limits>

/// Convolution as matrix products (im2col): y is w times a matrix with one row per element of the
/// window and one column per output position ("place"). Only panels of some columns of this matrix
/// exist at a time. There are four variants:
/// - `gathered`: the panels are gathered from x.
/// - `in_place`: if strides are 1, a row of a panel is a part of the padded x; nothing is gathered.
/// - `dots`: for few output positions, dot products of windows.
/// - `rows`: for few output channels and long rows, weighted rows of x are added to rows of y.
///
/// The variant depends on extents only, and each element of y is one sum in a fixed order, so equal
/// channels give equal results. Sums are of type T, float or double; f16 and bf16 are converted to
/// f32, image by image, and the results are rounded once.
namespace rondel::kernels {
namespace {

using namespace convolution;

/// Elements of the panels worked on together, so that they stay in the second-level cache.
template <class T>
constexpr std::int64_t most_gathered = (std::int64_t{1} << 18) / std::int64_t{sizeof(T)};
/// With fewer output positions than this, most columns of a panel would be padding.
constexpr std::int64_t few_positions = 16;
/// With fewer output channels than this, rows of y of at least `least_row` elements are computed
/// one by one.
constexpr std::int64_t few_maps = 4, least_row = 64;
/// Columns of a row that are worked on at once, so that they stay in the first-level cache.
template <class T> constexpr std::int64_t most_columns = 8192 / std::int64_t{sizeof(T)};
/// Elements of a row of the window that are added at once.
constexpr std::int64_t most_taps = 256;
/// With fewer multiplications than this, one thread is faster than several.
constexpr std::int64_t least_parallel = std::int64_t{1} << 20;

/// The row of x that row `element` of the window reads at row `place` of output positions; null if
/// it is padding. Rows are numbered over all axes but the last; `element` also over the channels.
template <class T>
const T* row_of_x(const Convolution<T>& c, const T* x, std::int64_t place, std::int64_t element) {
  std::int64_t offset = 0, step = c.axes.back().in;
  for (std::size_t a = c.axes.size() - 1; a-- > 0;) {
    const Axis& axis = c.axes[a];
    const std::int64_t at = place % axis.out * axis.window.stride +
                            element % axis.window.kernel * axis.window.dilation - axis.window.begin;
    if (at < 0 || at >= axis.in) return nullptr;
    offset += at * step;
    step *= axis.in;
    place /= axis.out;
    element /= axis.window.kernel;
  }
  return x + element * c.in_size + offset;
}

/// to[i] = row[at + i * step]; zero for indices outside [0, extent), or if `row` is null.
template <class T>
void gather_row(T* to, std::int64_t count, const T* row, std::int64_t at, std::int64_t step,
                std::int64_t extent) {
  if (row == nullptr) return std::fill(to, to + count, T{0});
  const Inside in = inside(at, step, extent, count);
  std::fill(to, to + in.from, T{0});
  if (step == 1) std::copy(row + (at + in.from), row + (at + in.to), to + in.from);
  else
    for (std::int64_t i = in.from; i < in.to; ++i) to[i] = row[at + i * step];
  std::fill(to + in.to, to + count, T{0});
}

/// The output positions that are the columns of a panel.
struct Columns {
  std::int64_t first, count;  ///< output positions are numbered along rows of `row_step_` columns
};

template <class T> class Im2col {
  using Call = Convolution<T>;

 public:
  void lay_out(Workspace& w, const Sizes& c) {
    elements_ = c.channels * c.window_size;
    threads_ = c.images * c.groups * c.maps * elements_ * c.out_size < least_parallel
                   ? 1
                   : thread_count();
    variant_ = variant_for(c);
    if (variant_ == Variant::rows) return;
    place_columns(c);
    const std::int64_t wanted = most_gathered<T> / std::max<std::int64_t>(elements_, 1);
    at_once_ = variant_ == Variant::dots
                   ? c.out_size
                   : std::clamp(wanted / panel_columns, std::int64_t{1},
                                (columns_ + panel_columns - 1) / panel_columns) *
                         panel_columns;
    depth_ = std::min(elements_, most_gathered<T> / std::max<std::int64_t>(at_once_, 1));
    // In place, only a partial panel is gathered.
    block_size_ = (variant_ == Variant::in_place ? panel_columns : at_once_) * depth_;
    blocks_ = w.take<T>(threads_ * block_size_);
    if (variant_ == Variant::dots) return;
    steps_ = w.take<std::int64_t>(depth_);
    offsets_ = w.take<std::int64_t>(variant_ == Variant::in_place ? elements_ : 0);
    padded_ = w.take<T>(variant_ == Variant::in_place && pads_ ? c.groups * c.channels * plane_
                                                               : 0);
  }

  void run(StopCheck& stop, const Call& c) {
    if (elements_ == 0) return fill_with_bias(c);
    if (variant_ == Variant::rows) return all_rows(stop, c);
    if (variant_ != Variant::dots)
      for (std::int64_t k = 0; k < depth_; ++k) steps_[k] = k * panel_columns;
    if (variant_ == Variant::in_place) find_offsets(c);
    const std::int64_t parts = (columns_ + at_once_ - 1) / at_once_;
    for (std::int64_t image = 0; image < c.images; ++image) {
      if (variant_ == Variant::in_place && pads_) pad(stop, c, image);
      parallel_for(
          stop, threads_, c.groups * parts, [&](StopCheck& own, std::int64_t unit, int thread) {
            T* block = blocks_ + thread * block_size_;
            const std::int64_t number = image * c.groups + unit / parts;
            const Group group = group_at(c, number);
            if (variant_ == Variant::dots) return by_dots(own, c, group, block);
            const std::int64_t first = unit % parts * at_once_;
            const T* x = variant_ == Variant::in_place && pads_
                             ? padded_ + unit / parts * c.channels * plane_
                             : group.x;
            by_panels(own, c, group, x, {first, std::min(at_once_, columns_ - first)}, block);
          });
    }
  }

 private:
  /// One group of one image.
  struct Group {
    const T *x, *w, *bias;
    T* y;
  };

  static Group group_at(const Call& c, std::int64_t number) {
    const std::int64_t image = number / c.groups, group = number % c.groups;
    return {c.group_of_x(image, group), c.group_of_w(group),
            c.bias == nullptr ? nullptr : c.bias + group * c.maps, c.group_of_y(image, group)};
  }

  enum class Variant { rows, dots, in_place, gathered };

  static Variant variant_for(const Sizes& c) {
    if (c.maps < few_maps && c.out_row >= least_row) return Variant::rows;
    if (c.out_size < few_positions) return Variant::dots;
    const bool in_place = c.axes.size() <= 2 && c.stride_one;
    return in_place ? Variant::in_place : Variant::gathered;
  }

  /// Sets the numbering of output positions. In place, they are numbered like the elements of the
  /// padded x; numbers between the rows then stand for no output position.
  void place_columns(const Sizes& c) {
    row_step_ = c.out_row;
    columns_ = c.out_size;
    if (variant_ != Variant::in_place) return;
    row_step_ = c.out_row + c.reach_of_row - 1;
    plane_ = (c.out_size / c.out_row + c.reach_of_rows - 1) * row_step_;
    columns_ = (c.out_size / c.out_row - 1) * row_step_ + c.out_row;
    pads_ = c.padded;
  }

  static void fill_with_bias(const Call& c) {
    for (std::int64_t g = 0; g < c.images * c.groups; ++g) {
      const Group group = group_at(c, g);
      for (std::int64_t m = 0; m < c.maps; ++m)
        std::fill_n(group.y + m * c.out_size, c.out_size, group.bias ? group.bias[m] : T{0});
    }
  }

  /// The offset in the padded x that each element of the window reads at output position 0.
  void find_offsets(const Call& c) const {
    const WindowAxis& row = c.axes.back().window;
    const WindowAxis rows = c.axes.size() > 1 ? c.axes[0].window : WindowAxis();
    std::int64_t* to = offsets_;
    for (std::int64_t channel = 0; channel < c.channels; ++channel)
      for (std::int64_t i = 0; i < rows.kernel; ++i)
        for (std::int64_t j = 0; j < row.kernel; ++j)
          *to++ = channel * plane_ + i * rows.dilation * row_step_ + j * row.dilation;
  }

  /// Copies all planes of an image, with padding.
  void pad(StopCheck& stop, const Call& c, std::int64_t image) const {
    const Axis& row = c.axes.back();
    const Axis rows = c.axes.size() > 1 ? c.axes[0] : Axis{{}, 1, 1};
    const T* x = c.group_of_x(image, 0);
    parallel_for(
        stop, threads_, c.groups * c.channels, [&](StopCheck& own, std::int64_t plane, int) {
          T* to = padded_ + plane * plane_;
          for (std::int64_t i = 0; i < plane_ / row_step_; ++i, to += row_step_) {
            const std::int64_t at = i - rows.window.begin;
            const bool there = at >= 0 && at < rows.in;
            gather_row(to, row_step_, there ? x + plane * c.in_size + at * row.in : nullptr,
                       -row.window.begin, 1, row.in);
            own.add_work(row_step_ / 8 + 8);
          }
        });
  }

  /// One panel. Row k of the panel begins at `at + offsets[k]`.
  struct Panel {
    const T* at;
    const std::int64_t* offsets;
    Columns columns;
  };

  void by_panels(StopCheck& stop, const Call& c, const Group& g, const T* x, Columns all,
                 T* block) const {
    for (std::int64_t k = 0; k < elements_; k += depth_) {
      const std::int64_t count = std::min(depth_, elements_ - k);
      if (variant_ == Variant::gathered)
        for (std::int64_t j = 0; j < all.count; j += panel_columns)
          gather_panel(stop, c, x, k, count, part(all, j), block + j * count);
      for (std::int64_t m = 0; m < c.maps; m += most_tile_rows) {
        const T* start = k > 0 ? nullptr : g.bias ? g.bias + m : zeros;
        const ProductRows<T> rows{std::min(most_tile_rows, c.maps - m), g.w + m * elements_ + k,
                                  elements_, start};
        for (std::int64_t j = 0; j < all.count; j += panel_columns) {
          const Columns columns = part(all, j);
          Panel panel{block + j * count, steps_, columns};
          if (variant_ == Variant::in_place)
            panel = panel_in_place(x, k, count, columns, m == 0, block);
          multiply(c, rows, panel, count, g.y + m * c.out_size);
        }
        stop.add_work(rows.count * count * all.count / 32);
      }
    }
  }

  static Columns part(Columns all, std::int64_t from) {
    return {all.first + from, std::min(panel_columns, all.count - from)};
  }

  /// A panel that is a part of x. A partial panel is gathered, so that nothing is read past the end
  /// of x.
  Panel panel_in_place(const T* x, std::int64_t k, std::int64_t count, Columns columns, bool gather,
                       T* block) const {
    const std::int64_t* offsets = offsets_ + k;
    if (columns.count == panel_columns) return {x + columns.first, offsets, columns};
    for (std::int64_t i = 0; i < count && gather; ++i) {
      const T* from = x + columns.first + offsets[i];
      T* to = block + i * panel_columns;
      std::copy_n(from, columns.count, to);
      std::fill(to + columns.count, to + panel_columns, T{0});
    }
    return {block, steps_, columns};
  }

  /// Computes the panel's columns of some rows of y.
  void multiply(const Call& c, const ProductRows<T>& rows, const Panel& panel, std::int64_t depth,
                T* y) const {
    std::int64_t row = panel.columns.first / row_step_, column = panel.columns.first % row_step_;
    if (column + panel_columns <= c.out_row && panel.columns.count == panel_columns)
      return multiply_panel(rows, panel.at, panel.offsets, depth, y + row * c.out_row + column,
                            c.out_size);
    T tile[most_tile_rows * panel_columns];
    const auto each_part = [&](const auto& f) {  // f(column of the tile, position in y, count)
      std::int64_t r = row, at = column;
      for (std::int64_t j = 0; j < panel.columns.count; at = 0, ++r) {
        const std::int64_t n = std::min(c.out_row - at, panel.columns.count - j);
        if (n > 0) f(j, r * c.out_row + at, n);
        j += row_step_ - at;
      }
    };
    if (rows.start == nullptr)
      each_part([&](std::int64_t j, std::int64_t place, std::int64_t n) {
        for (std::int64_t r = 0; r < rows.count; ++r)
          std::copy_n(y + r * c.out_size + place, n, tile + r * panel_columns + j);
      });
    multiply_panel(rows, panel.at, panel.offsets, depth, tile, panel_columns);
    each_part([&](std::int64_t j, std::int64_t place, std::int64_t n) {
      for (std::int64_t r = 0; r < rows.count; ++r)
        std::copy_n(tile + r * panel_columns + j, n, y + r * c.out_size + place);
    });
  }

  /// Row i of the panel: the elements that element k + i of the window reads at the output
  /// positions `columns`, then zeros.
  static void gather_panel(StopCheck& stop, const Call& c, const T* x, std::int64_t k,
                           std::int64_t count, Columns columns, T* to) {
    const auto& [window, in, out] = c.axes.back();
    const std::int64_t first_row = columns.first / out, first = columns.first % out;
    for (const std::int64_t end = k + count; k < end; ++k, to += panel_columns) {
      const std::int64_t row = k / window.kernel;
      const std::int64_t at = k % window.kernel * window.dilation - window.begin;
      std::int64_t place_row = first_row, place = first, j = 0;
      for (; j < columns.count; place = 0, ++place_row) {
        const std::int64_t n = std::min(out - place, columns.count - j);
        gather_row(to + j, n, row_of_x(c, x, place_row, row), place * window.stride + at,
                   window.stride, in);
        j += n;
      }
      std::fill(to + columns.count, to + panel_columns, T{0});
    }
    stop.add_work(count * 8);
  }

  /// All output positions of a plane, one row of the block per position.
  void by_dots(StopCheck& stop, const Call& c, const Group& g, T* block) const {
    for (std::int64_t k = 0; k < elements_; k += depth_) {
      const std::int64_t count = std::min(depth_, elements_ - k);
      for (std::int64_t p = 0; p < c.out_size; ++p) {
        gather_window(c, g.x, k, count, p, block + p * count);
        stop.add_work(count / 4 + 8);
      }
      for (std::int64_t m = 0; m < c.maps; ++m) {
        const T* w = g.w + m * elements_ + k;
        T* y = g.y + m * c.out_size;
        if (k == 0) std::fill_n(y, c.out_size, g.bias ? g.bias[m] : T{0});
        add_dots(w, block, count, y, c.out_size);
        stop.add_work(count * c.out_size / 16 + 8);
      }
    }
  }

  /// The elements that window elements [k, k + count) read at output position p.
  static void gather_window(const Call& c, const T* x, std::int64_t k, std::int64_t count,
                            std::int64_t p, T* to) {
    const auto& [window, in, out] = c.axes.back();
    const std::int64_t at = p % out * window.stride - window.begin;
    std::int64_t row = k / window.kernel, element = k % window.kernel;
    for (std::int64_t i = 0; i < count; element = 0, ++row) {
      const std::int64_t n = std::min(window.kernel - element, count - i);
      gather_row(to + i, n, row_of_x(c, x, p / out, row), at + element * window.dilation,
                 window.dilation, in);
      i += n;
    }
  }

  void all_rows(StopCheck& stop, const Call& c) const {
    const std::int64_t rows = c.out_size / c.out_row;
    const bool finite = std::all_of(c.w, c.w + c.groups * c.maps * elements_,
                                    [](T w) { return std::isfinite(w); });
    parallel_for(stop, threads_, c.images * c.groups * rows,
                 [&](StopCheck& own, std::int64_t unit, int) {
                   const Group group = group_at(c, unit / rows);
                   one_row(own, c, group, unit % rows);
                   if (!finite) add_padding(own, c, group, unit % rows);
                 });
  }

  /// Where an element is padding, a weight that is not finite times 0 is NaN.
  void add_padding(StopCheck& stop, const Call& c, const Group& g, std::int64_t r) const {
    const auto& [window, in, out] = c.axes.back();
    for (std::int64_t m = 0; m < c.maps; ++m) {
      T* y = g.y + m * c.out_size + r * out;
      for (std::int64_t k = 0; k < elements_; ++k) {
        if (std::isfinite(g.w[m * elements_ + k])) continue;
        const bool padded = row_of_x(c, g.x, r, k / window.kernel) == nullptr;
        const std::int64_t offset = k % window.kernel * window.dilation - window.begin;
        const Inside read = padded ? Inside{out, out} : inside(offset, window.stride, in, out);
        std::fill(y, y + read.from, std::numeric_limits<T>::quiet_NaN());
        std::fill(y + read.to, y + out, std::numeric_limits<T>::quiet_NaN());
        stop.add_work(out);
      }
    }
  }

  /// Row r of every output channel of y, in blocks of columns and of elements of a window row.
  void one_row(StopCheck& stop, const Call& c, const Group& g, std::int64_t r) const {
    const Axis& row = c.axes.back();
    const std::int64_t window_rows = elements_ / row.window.kernel;
    for (std::int64_t m = 0; m < c.maps; ++m) {
      T* y = g.y + m * c.out_size + r * row.out;
      std::fill_n(y, row.out, g.bias ? g.bias[m] : T{0});
      for (std::int64_t from = 0; from < row.out; from += most_columns<T>) {
        const std::int64_t to = std::min(from + most_columns<T>, row.out);
        for (std::int64_t k = 0; k < window_rows; ++k) {
          const T* x = row_of_x(c, g.x, r, k);
          if (x == nullptr) continue;
          const T* w = g.w + (m * window_rows + k) * row.window.kernel;
          for (std::int64_t e = 0; e < row.window.kernel; e += most_taps) {
            const WindowRow<T> part{w + e,
                                    std::min(most_taps, row.window.kernel - e),
                                    row.window.stride,
                                    row.window.dilation,
                                    e * row.window.dilation - row.window.begin,
                                    row.in};
            add_window_row(part, x, y, from, to);
            stop.add_work(part.count * ((to - from) / 16 + 4));
          }
        }
      }
    }
  }

  static constexpr T zeros[most_tile_rows] = {};

  int threads_ = 1;
  Variant variant_ = Variant::rows;
  std::int64_t elements_ = 0;             ///< elements of a window, over all channels
  std::int64_t columns_ = 0;              ///< columns of the matrix
  std::int64_t row_step_ = 0;             ///< columns from one row of y to the next
  std::int64_t plane_ = 0;                ///< elements of a plane of the padded x
  bool pads_ = false;                     ///< a padded copy of x is needed
  std::int64_t at_once_ = 0, depth_ = 0;  ///< columns and rows of the matrix worked on together
  std::int64_t block_size_ = 0;           ///< elements of a block
  T* blocks_ = nullptr;                   ///< gathered elements, one block per thread
  T* padded_ = nullptr;                   ///< a padded image
  std::int64_t* offsets_ = nullptr;       ///< by element of the window: its offset in the padded x
  std::int64_t* steps_ = nullptr;         ///< by row of a gathered panel: its offset
};

}  // namespace

std::shared_ptr<const SizedKernel> fast_conv(const ConvSpec& spec, DType t, std::size_t rank) {
  std::shared_ptr<const SizedKernel> kernel;
  with_float_type(t, [&](auto zero) {
    using T = decltype(zero);
    using Algorithm =
        std::conditional_t<std::is_floating_point_v<T>, Im2col<T>, Widened<T, Im2col<float>>>;
    kernel = std::make_shared<Conv<T, Algorithm>>(spec, rank);
  });
  return kernel;
}

}  // namespace rondel::kernels
