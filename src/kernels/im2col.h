#pragma once
#include "base/checked.h"
#include "kernels/convolution.h"
#include "kernels/padded_input.h"
#include "kernels/parallel_for.h"
#include "kernels/product_tile.h"
#include "kernels/row_sums.h"
#include "kernels/threads.h"

#include <algorithm>

/// Convolution as matrix products (im2col): y is w times a matrix with one row per element of the
/// window and one column per output position ("place"). Only panels of some columns of this matrix
/// exist at a time. There are four variants:
/// - `packed`: the panels are copied from x, padded.
/// - `in_place`: for few output channels, the panels are parts of the padded x.
/// - `gathered`: the panels are gathered from x, element by element, if padding would make x too
///   large.
/// - `dots`: for few output positions, dot products of windows.
///
/// The variant depends on extents only, and each element of y is one sum in a fixed order, so equal
/// channels give equal results. T is float or double; or Quad, where channels are
/// taken four by four (`multiply_panel`).
namespace rondel::kernels::convolution {

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

template <class T> class Im2col {
  using Call = Convolution<T>;

  /// Elements of the panels worked on together, so that they stay in the second-level cache.
  static constexpr std::int64_t most_gathered = (std::int64_t{1} << 18) / std::int64_t{sizeof(T)};
  /// With fewer output positions than this, most columns of a panel would be padding.
  static constexpr std::int64_t few_positions = 16;
  /// With fewer output channels than this, copying panels may take longer than it saves.
  static constexpr std::int64_t few_maps = 32;
  /// With fewer output channels than this, each is computed by itself.
  static constexpr std::int64_t least_rows = 4;
  /// About the most multiplications between two looks at whether the run is to stop.
  static constexpr std::int64_t most_between_checks = std::int64_t{1} << 20;
  /// The most elements of all copies of padded images together.
  static constexpr std::int64_t most_copied = std::int64_t{1} << 24;
  /// With fewer multiplications than this, one thread is faster than several.
  static constexpr std::int64_t least_parallel = std::int64_t{1} << 20;

 public:
  void lay_out(Workspace& w, const Sizes& c) {
    elements_ = c.channels * c.window_size;
    threads_ = c.images * c.groups * c.maps * elements_ * c.out_size < least_parallel
                   ? 1
                   : thread_count();
    variant_ = variant_for(c);
    if (elements_ == 0) return;
    if (variant_ == Variant::dots) {
      at_once_ = c.out_size;
      depth_ = std::min(elements_, most_gathered / std::max<std::int64_t>(at_once_, 1));
      blocks_ = w.take<T>(threads_ * (block_size_ = at_once_ * depth_));
      return;
    }
    if (variant_ != Variant::in_place) {
      depth_ = std::min(elements_, panel_depth());
      at_once_ = columns_at_once(c);
      // A vector may be stored beyond the last panel.
      block_size_ = at_once_ * depth_ + most_panel_columns;
      blocks_ = w.take<T>(threads_ * block_size_);
      steps_ = w.take<std::int64_t>(depth_);
    }
    if (variant_ == Variant::gathered) return;
    by_group_ = c.groups >= threads_ && parts_of_group(c, threads_) == 1;
    input_.lay_out(w, c, by_group_ || by_image(c) ? threads_ : 1, by_group_ ? 1 : c.groups);
  }

  void run(StopCheck& stop, const Call& c) {
    if (elements_ == 0) return fill_with_bias(c);
    if (variant_ == Variant::dots) return all_dots(stop, c);
    for (std::int64_t k = 0; k < depth_; ++k) steps_[k] = k * panel_columns<T>();
    if (variant_ != Variant::gathered) input_.find_offsets(c);
    if (by_image(c))
      return parallel_for(stop, threads_, c.images,
                          [&](StopCheck& own, std::int64_t image, int thread) {
                            one_image(own, c, {image, thread, 1});
                          });
    for (std::int64_t image = 0; image < c.images; ++image)
      one_image(stop, c, {image, 0, threads_});
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

  /// An image, and the threads that work on it.
  struct Turn {
    std::int64_t image;
    int first_thread, threads;
  };
  /// Whether each thread works on images of its own.
  bool by_image(const Sizes& c) const {
    return threads_ > 1 && c.images >= threads_ &&
           c.padded_plane <= most_copied / (threads_ * c.groups * c.channels);
  }

  enum class Variant { dots, in_place, packed, gathered };

  static Variant variant_for(const Sizes& c) {
    if (c.out_size < few_positions) return Variant::dots;
    if (!PaddedInput<T>::fits(c)) return Variant::gathered;
    return suits_place(c) ? Variant::in_place : Variant::packed;
  }

  static bool suits_place(const Sizes& c) {
    const std::int64_t width = panel_columns<T>();
    if (c.maps < least_rows) return c.out_row >= width / 2;
    // The last panel of a row overlaps the one before it, and is partly computed twice.
    const std::int64_t computed = divide_up(c.out_row, width) * width;
    return c.maps < few_maps && c.out_row >= width && computed <= c.out_row + c.out_row / 4 &&
           c.channels * c.window_size <= 2 * panel_depth();
  }

  /// Whole panels, about equally many for each part and thread.
  std::int64_t columns_at_once(const Sizes& c) const {
    const std::int64_t panels = divide_up(c.out_size, panel_columns<T>());
    const std::int64_t most = std::max<std::int64_t>(most_gathered / (depth_ * panel_columns<T>()),
                                                     1);
    const std::int64_t parts = std::max(divide_up(panels, most), divide_up(threads_, c.groups));
    return divide_up(panels, parts) * panel_columns<T>();
  }

  static void fill_with_bias(const Call& c) {
    for (std::int64_t g = 0; g < c.images * c.groups; ++g) {
      const Group group = group_at(c, g);
      for (std::int64_t m = 0; m < c.maps; ++m)
        std::fill_n(group.y + m * c.out_size, c.out_size, group.bias ? group.bias[m] : T{0});
    }
  }

  void one_image(StopCheck& stop, const Call& c, Turn turn) const {
    const T* x = variant_ == Variant::gathered || by_group_
                     ? nullptr
                     : input_.read(stop, c, c.group_of_x(turn.image, 0), c.groups,
                                   turn.first_thread, turn.threads);
    const std::int64_t parts = parts_of_group(c, turn.threads);
    parallel_for(stop, turn.threads, c.groups * parts,
                 [&](StopCheck& own, std::int64_t unit, int thread) {
                   const std::int64_t g = unit / parts, part = unit % parts;
                   const int buffers = turn.first_thread + thread;
                   Group group = group_at(c, turn.image * c.groups + g);
                   if (by_group_) group.x = input_.read(own, c, group.x, 1, buffers, 1);
                   else if (x != nullptr) group.x = x + g * input_.group_size();
                   if (variant_ == Variant::in_place) return in_place(own, c, group, part, parts);
                   const std::int64_t first = part * at_once_;
                   by_panels(own, c, group, {first, std::min(at_once_, c.out_size - first)},
                             blocks_ + buffers * block_size_);
                 });
  }

  std::int64_t parts_of_group(const Sizes& c, int threads) const {
    if (variant_ != Variant::in_place) return divide_up(c.out_size, at_once_);
    // A part is whole rows, or a part of the only row.
    const std::int64_t most = is_line(c) ? c.out_row / (4 * panel_columns<T>())
                                         : c.out_size / c.out_row;
    return std::clamp(divide_up(threads, c.groups), std::int64_t{1},
                      std::max<std::int64_t>(most, 1));
  }
  static bool is_line(const Sizes& c) { return c.axes.size() == 1; }

  void by_panels(StopCheck& stop, const Call& c, const Group& g, Columns all, T* block) const {
    for (std::int64_t k = 0; k < elements_; k += depth_) {
      const std::int64_t count = std::min(depth_, elements_ - k);
      for (std::int64_t j = 0; j < all.count; j += panel_columns<T>()) {
        T* to = block + j * count;
        if (variant_ == Variant::packed) input_.pack(c, g.x, k, count, part(all, j), to);
        else gather_panel(c, g.x, k, count, part(all, j), to);
        stop.add_work(count * 4 + 32);
      }
      for (std::int64_t m = 0; m < c.maps; m += most_tile_rows) {
        const T* start = k > 0 ? nullptr : g.bias ? g.bias + m : zeros;
        const ProductRows<T> rows{std::min(most_tile_rows, c.maps - m), g.w + m * elements_ + k,
                                  elements_, start};
        for (std::int64_t j = 0; j < all.count; j += panel_columns<T>()) {
          multiply(c, rows, block + j * count, count, part(all, j), g.y + m * c.out_size);
          stop.add_work(rows.count * count);
        }
      }
    }
  }

  static Columns part(Columns all, std::int64_t from) {
    return {all.first + from, std::min(panel_columns<T>(), all.count - from)};
  }

  /// Computes the panel's columns of some rows of y.
  void multiply(const Call& c, const ProductRows<T>& rows, const T* panel, std::int64_t depth,
                Columns columns, T* y) const {
    y += columns.first;
    const std::int64_t width = panel_columns<T>();
    if (columns.count == width) return multiply_panel(rows, panel, steps_, depth, y, c.out_size);
    T tile[most_tile_rows * most_panel_columns] = {};
    for (std::int64_t r = 0; r < rows.count && rows.start == nullptr; ++r)
      std::copy_n(y + r * c.out_size, columns.count, tile + r * width);
    multiply_panel(rows, panel, steps_, depth, tile, width);
    for (std::int64_t r = 0; r < rows.count; ++r)
      std::copy_n(tile + r * width, columns.count, y + r * c.out_size);
  }

  /// One of `parts` equal parts of the output positions, for all output channels.
  void in_place(StopCheck& stop, const Call& c, const Group& g, std::int64_t part,
                std::int64_t parts) const {
    if (is_line(c)) {
      const std::int64_t from = c.out_row * part / parts, to = c.out_row * (part + 1) / parts;
      rows_in_place(stop, c, {g.x + from, g.w, g.bias, g.y + from}, {1, to - from, 0});
      return;
    }
    const std::int64_t rows = c.out_size / c.out_row, end = rows * (part + 1) / parts;
    const Axis& axis = c.axes[c.axes.size() - 2];
    for (std::int64_t row = rows * part / parts, n = 0; row < end; row += n) {
      // Rows along one axis are at regular distances.
      n = std::min(end - row, axis.out - row % axis.out);
      rows_in_place(stop, c, {g.x + input_.first_read(c, row), g.w, g.bias, g.y + row * c.out_row},
                    {n, c.out_row, axis.window.stride * c.padded_row});
    }
  }

  /// Rows of y. `step`: from the elements of x that one row reads to those of the next.
  struct Rows {
    std::int64_t count, columns, step;
  };

  void rows_in_place(StopCheck& stop, const Call& c, const Group& g, Rows rows) const {
    const std::int64_t work = elements_ * (c.maps < least_rows ? 1 : c.maps);
    const std::int64_t width = 4 * panel_columns<T>();
    const std::int64_t rows_at_once = std::clamp(most_between_checks / (work * width),
                                                 std::int64_t{1}, rows.count);
    const std::int64_t columns = std::max(
        most_between_checks / (work * rows_at_once) / width * width, width);
    for (std::int64_t r = 0; r < rows.count; r += rows_at_once)
      for (std::int64_t j = 0, n = 0; j < rows.columns; j += n) {
        // The last columns are at least as many as the others: they fill panels.
        n = rows.columns - j < 2 * columns ? rows.columns - j : columns;
        block_in_place(stop, c, {g.x + r * rows.step + j, g.w, g.bias, g.y + r * c.out_row + j},
                       {std::min(rows_at_once, rows.count - r), n, rows.step});
      }
  }

  void block_in_place(StopCheck& stop, const Call& c, const Group& g, Rows rows) const {
    if (c.maps < least_rows) return map_by_map(stop, c, g, rows);
    for (std::int64_t r = 0; r < rows.count; ++r) {
      one_row(c, {g.x + r * rows.step, g.w, g.bias, g.y + r * c.out_row}, rows.columns);
      stop.add_work(c.maps * elements_ * (rows.columns / 16 + 1));
    }
  }

  void map_by_map(StopCheck& stop, const Call& c, const Group& g, Rows rows) const {
    for (std::int64_t m = 0; m < c.maps; ++m) {
      sum_rows<T>({.weights = g.w + m * elements_,
                   .offsets = input_.offsets(),
                   .count = elements_,
                   .start = g.bias ? g.bias[m] : T{0},
                   .rows = rows.count,
                   .columns = rows.columns,
                   .x = g.x,
                   .y = g.y + m * c.out_size,
                   .x_step = rows.step,
                   .y_step = c.out_row});
      stop.add_work(rows.count * elements_ * (rows.columns / 16 + 1));
    }
  }

  /// One row of all output channels, in panels that are parts of the padded x. The last panel may
  /// overlap the one before it.
  void one_row(const Call& c, const Group& g, std::int64_t columns) const {
    const ProductRows<T> maps{c.maps, g.w, elements_, g.bias ? g.bias : zeros};
    for (std::int64_t j = 0; j < columns; j += panel_columns<T>()) {
      const std::int64_t at = std::min(j, columns - panel_columns<T>());
      multiply_panel(maps, g.x + at, input_.offsets(), elements_, g.y + at, c.out_size);
    }
  }

  /// Row i of the panel: the elements that element k + i of the window reads at the output
  /// positions `columns`, then zeros.
  static void gather_panel(const Call& c, const T* x, std::int64_t k, std::int64_t count,
                           Columns columns, T* to) {
    const auto& [window, in, out] = c.axes.back();
    const std::int64_t first_row = columns.first / out, first = columns.first % out;
    for (const std::int64_t end = k + count; k < end; ++k, to += panel_columns<T>()) {
      const std::int64_t row = k / window.kernel;
      const std::int64_t at = k % window.kernel * window.dilation - window.begin;
      std::int64_t place_row = first_row, place = first, j = 0;
      for (; j < columns.count; place = 0, ++place_row) {
        const std::int64_t n = std::min(out - place, columns.count - j);
        gather_row(to + j, n, row_of_x(c, x, place_row, row), place * window.stride + at,
                   window.stride, in, c.padding);
        j += n;
      }
      std::fill(to + columns.count, to + panel_columns<T>(), T{0});
    }
  }

  void all_dots(StopCheck& stop, const Call& c) const {
    const std::int64_t parts = std::min(c.maps, divide_up(threads_, c.images * c.groups));
    parallel_for(stop, threads_, c.images * c.groups * parts,
                 [&](StopCheck& own, std::int64_t unit, int thread) {
                   const std::int64_t p = unit % parts;
                   by_dots(own, c, group_at(c, unit / parts), c.maps * p / parts,
                           c.maps * (p + 1) / parts, blocks_ + thread * block_size_);
                 });
  }

  /// All output positions of some planes, one row of the block per position.
  void by_dots(StopCheck& stop, const Call& c, const Group& g, std::int64_t first, std::int64_t end,
               T* block) const {
    for (std::int64_t k = 0; k < elements_; k += depth_) {
      const std::int64_t count = std::min(depth_, elements_ - k);
      for (std::int64_t p = 0; p < c.out_size; ++p) {
        gather_window(c, g.x, k, count, p, block + p * count);
        stop.add_work(count / 4 + 8);
      }
      for (std::int64_t m = first; m < end; m += most_dot_rows) {
        const std::int64_t rows = std::min(most_dot_rows, end - m);
        T* y = g.y + m * c.out_size;
        for (std::int64_t r = 0; r < rows && k == 0; ++r)
          std::fill_n(y + r * c.out_size, c.out_size, g.bias ? g.bias[m + r] : T{0});
        add_dots({rows, g.w + m * elements_ + k, elements_, nullptr}, block, count, y, c.out_size);
        stop.add_work(rows * (count * c.out_size / 16 + 8));
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
                 window.dilation, in, c.padding);
      i += n;
    }
  }

  static constexpr T zeros[most_tile_rows] = {};

  PaddedInput<T> input_;
  bool by_group_ = false;  ///< each thread pads the group that it works on, not all of the image
  int threads_ = 1;
  Variant variant_ = Variant::dots;
  std::int64_t elements_ = 0;             ///< elements of a window, over all channels
  std::int64_t at_once_ = 0, depth_ = 0;  ///< columns and rows of the matrix worked on together
  std::int64_t block_size_ = 0;           ///< elements of a block
  T* blocks_ = nullptr;                   ///< gathered elements, one block per thread
  std::int64_t* steps_ = nullptr;         ///< by row of a gathered panel: its offset
};

}  // namespace rondel::kernels::convolution
