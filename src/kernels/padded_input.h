#pragma once
#include "kernels/convolution.h"
#include "kernels/lanes.h"
#include "kernels/parallel_for.h"
#include "kernels/product_tile.h"

#include <algorithm>

namespace rondel::kernels::convolution {

/// Copies elements of a row, which may be short: without a call. The last vector may overlap the
/// one before it.
template <class T>
[[gnu::always_inline]] inline void copy_run(T* to, const T* from, std::int64_t n) {
  constexpr std::int64_t lanes = 16 / sizeof(T);
  if (n < lanes) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
    return;
  }
  const auto copy_at = [&](std::int64_t i) __attribute__((always_inline)) {
    const typename Lanes<T, 16>::Vector v = load<T, 16>(from + i);
    store<T, 16>(to + i, v);
  };
  for (std::int64_t i = 0; i + lanes < n; i += lanes) copy_at(i);
  copy_at(n - lanes);
}

/// to[i] = row[at + i * step]; `padding` for indices outside [0, extent), or if `row` is null.
template <class T>
void gather_row(T* to, std::int64_t count, const T* row, std::int64_t at, std::int64_t step,
                std::int64_t extent, T padding) {
  if (row == nullptr) return std::fill(to, to + count, padding);
  const Inside in = inside(at, step, extent, count);
  std::fill(to, to + in.from, padding);
  if (step == 1) copy_run(to + in.from, row + (at + in.from), in.to - in.from);
  else
    for (std::int64_t i = in.from; i < in.to; ++i) to[i] = row[at + i * step];
  std::fill(to + in.to, to + count, padding);
}

/// The output positions that are the columns of a panel.
struct Columns {
  std::int64_t first, count;
};

/// An image with its padding, in which neighbouring output positions of a row read neighbouring
/// elements: the elements of a row are in phases, one for each remainder by the stride. It is x
/// itself if there is no padding and the strides are 1.
template <class T> class PaddedInput {
  using Call = Convolution<T>;

 public:
  /// Whether the copy of an image is small, or not much larger than the image.
  static bool fits(const Sizes& c) {
    constexpr std::int64_t small = std::int64_t{1} << 20;
    return c.padded_plane <= small / std::max<std::int64_t>(c.groups * c.channels, 1) ||
           c.padded_plane / 8 <= c.in_size;
  }

  /// `copies`: the parts of images that are worked on at a time, of `groups` groups each.
  void lay_out(Workspace& w, const Sizes& c, int copies, std::int64_t groups) {
    is_copy_ = c.padded || !c.stride_one;
    group_size_ = c.channels * c.padded_plane;
    copy_size_ = is_copy_ ? groups * group_size_ + most_panel_columns : 0;
    offsets_ = w.take<std::int64_t>(c.channels * c.window_size);
    copies_ = w.take<T>(copies * copy_size_);
  }

  /// Some groups of an image, at `x`; if they need padding, they are written to a copy with this
  /// number. `find_offsets` must have been called, and `fits` must hold.
  const T* read(StopCheck& stop, const Call& c, const T* x, std::int64_t groups, int copy,
                int threads) const {
    if (!is_copy_) return x;
    T* to = copies_ + copy * copy_size_;
    parallel_for(stop, threads, groups * c.channels, [&](StopCheck& own, std::int64_t plane, int) {
      copy_part(own, c, 0, x + plane * c.in_size, c.in_size, to + plane * c.padded_plane);
    });
    return to;
  }

  /// Elements of a group of an image.
  std::int64_t group_size() const { return group_size_; }
  void find_offsets(const Call& c) const {
    const WindowAxis& last = c.axes.back().window;
    const std::int64_t length = c.axes.back().phase_length();
    for (std::int64_t k = 0; k < c.channels * c.window_size; ++k) {
      const std::int64_t at = k % last.kernel * last.dilation;
      std::int64_t offset = at % last.stride * length + at / last.stride;
      std::int64_t row = k / last.kernel, step = c.padded_row;
      for (std::size_t a = c.axes.size() - 1; a-- > 0;) {
        const Axis& axis = c.axes[a];
        offset += row % axis.window.kernel * axis.window.dilation * step;
        step *= axis.padded();
        row /= axis.window.kernel;
      }
      offsets_[k] = offset + row * c.padded_plane;
    }
  }
  /// By element of the window: its offset from the element that element 0 reads.
  const std::int64_t* offsets() const { return offsets_; }

  /// The index in a group that element 0 of the window reads at the beginning of a row of output
  /// positions.
  static std::int64_t first_read(const Call& c, std::int64_t row) {
    std::int64_t index = 0, step = c.padded_row;
    for (std::size_t a = c.axes.size() - 1; a-- > 0;) {
      const Axis& axis = c.axes[a];
      index += row % axis.out * axis.window.stride * step;
      step *= axis.padded();
      row /= axis.out;
    }
    return index;
  }

  /// Row i of a panel: the elements of a group that element k + i of the window reads at some
  /// output positions, then zeros.
  void pack(const Call& c, const T* group, std::int64_t k, std::int64_t count, Columns columns,
            T* to) const {
    RowPart parts[most_panel_columns];
    std::size_t n = 0;
    std::int64_t row = columns.first / c.out_row, at = columns.first % c.out_row;
    for (std::int64_t j = 0; j < columns.count; at = 0, ++row) {
      const std::int64_t some = std::min(c.out_row - at, columns.count - j);
      parts[n++] = {first_read(c, row) + at, j, some};
      j += some;
    }
    // Offsets in x itself ascend.
    const RowPart& last = parts[n - 1];
    const std::int64_t end = last.from + offsets_[k + count - 1] + last.count + most_panel_columns;
    const bool has_room = is_copy_ || end <= group_size_;
    pack_panel(group, offsets_ + k, count, {parts, n}, has_room, to);
    if (columns.count == panel_columns<T>()) return;
    for (std::int64_t i = 0; i < count; ++i)
      std::fill(to + i * panel_columns<T>() + columns.count, to + (i + 1) * panel_columns<T>(),
                T{0});
  }

 private:
  /// Copies a part of a plane, over the axes from `a` on, of `size` elements. `from`: null if all
  /// of it is padding. Returns the end of the copy.
  static T* copy_part(StopCheck& stop, const Call& c, std::size_t a, const T* from,
                      std::int64_t size, T* to) {
    if (a + 2 >= c.axes.size()) return copy_rows(stop, c, from, to);
    const Axis& axis = c.axes[a];
    const std::int64_t inner = size / std::max<std::int64_t>(axis.in, 1);
    for (std::int64_t i = 0; i < axis.padded(); ++i) {
      const std::int64_t at = i - axis.window.begin;
      const bool inside = from != nullptr && at >= 0 && at < axis.in;
      to = copy_part(stop, c, a + 1, inside ? from + at * inner : nullptr, inner, to);
    }
    return to;
  }

  /// The same for the rows along the last two axes, or for the only row.
  static T* copy_rows(StopCheck& stop, const Call& c, const T* from, T* to) {
    const Axis& last = c.axes.back();
    const Axis only{{}, 1, 1}, &axis = c.axes.size() > 1 ? c.axes[c.axes.size() - 2] : only;
    const Inside rows = from == nullptr ? Inside{0, 0}
                                        : inside(-axis.window.begin, 1, axis.in, axis.padded());
    const std::int64_t length = last.phase_length();
    for (std::int64_t row = 0; row < axis.padded(); ++row, to += c.padded_row) {
      const bool has_elements = row >= rows.from && row < rows.to;
      const T* x = has_elements ? from + (row - axis.window.begin) * last.in : nullptr;
      for (std::int64_t phase = 0; phase < last.phases(); ++phase)
        gather_row(to + phase * length, length, x, phase - last.window.begin, last.window.stride,
                   last.in, c.padding);
      stop.add_work(c.padded_row / 8 + 8);
    }
    return to;
  }

  bool is_copy_ = false;
  std::int64_t group_size_ = 0, copy_size_ = 0;
  std::int64_t* offsets_ = nullptr;
  T* copies_ = nullptr;
};

}  // namespace rondel::kernels::convolution
