#pragma once
#include "base/checked.h"
#include "kernels/parallel_for.h"
#include "kernels/row_windows.h"

/// Pooling of planes whose rows are short. Used by fast pooling only.
namespace rondel::kernels::pooling {

/// First, the columns of the windows (the elements along all axes but the last) are reduced to one
/// element each. The results are short rows. Many of them are concatenated to one long row, with
/// padding between them. Then windows slide over the long row with stride 1. Of the results, only
/// those at multiples of the stride are used.
template <class Reduction> class ShortRows {
  using Acc = typename Reduction::Acc;
  using Extents = std::span<const std::int64_t>;
  using Pack = typename Reduction::Pack;
  using Vector = typename Pack::Vector;
  static constexpr std::int64_t count = Pack::count;
  /// The most elements of a plane, and of a long row.
  static constexpr std::int64_t largest_plane = 32768, long_row = 2048;
  /// Windows that are reduced at once, in four vectors.
  static constexpr std::int64_t windows_together = 4 * count;

 public:
  void lay_out(Workspace& w, const PoolSpec& spec, Extents in, Extents out, bool widens) {
    find_sizes(spec, in, out);
    if (!fits()) return;
    const std::int64_t results = unit_rows() * out_;
    windows_.lay_out(w, 1, out_rows_, window_rows_);
    counts_ = w.take<Acc>(Reduction::is_mean ? out_ : 0);
    divisors_ = w.take<Acc>(Reduction::is_mean ? results : 0);
    columns_ = w.take<Acc>(threads_ * columns_size());
    found_ = w.take<Acc>(threads_ * found_size());
    copies_ = w.take<Acc>(widens || in_ < count ? threads_ * copy_size() : 0);
    results_ = w.take<Acc>(widens ? threads_ * results : 0);
  }

  /// Whether this algorithm supports the shapes that `lay_out` was called with: rows are short,
  /// planes are not too large, and no window covers only padding.
  bool fits() const { return threads_ > 0; }

  void run(StopCheck& stop, const Planes<Acc>& p, const PoolSpec& spec) const {
    prepare(stop, p, spec.count_include_pad);
    parallel_for(stop, threads_, divide_up(p.planes, planes_together_),
                 [&](StopCheck& own, std::int64_t unit, int thread) {
                   const std::int64_t first = unit * planes_together_;
                   pool_unit(own, p, first, std::min(first + planes_together_, p.planes), thread);
                 });
  }

 private:
  // ---- sizes

  void find_sizes(const PoolSpec& spec, Extents in, Extents out) {
    const std::size_t axes = spec.window.kernel.size();
    for (std::size_t a = 0; a < axes; ++a) {
      last_ = axis_of(spec.window, a, in[a + 2], spec.window.kernel[a]);
      if (!reads_at_every_place(last_, in[a + 2], out[a + 2])) return;
    }
    in_ = in.back();
    out_ = out.back();
    plane_ = product(in.subspan(2));
    out_rows_ = product(out.subspan(2, axes - 1));
    window_rows_ = rows_under_window(spec, in);
    if (!rows_are_short() || plane_ > largest_plane) return;
    if (Reduction::is_mean && !counts_exactly<Acc>(spec)) return;
    // Rows share the padding between them.
    const std::int64_t behind = (out_ - 1) * last_.stride + last_.reach() - last_.begin - in_;
    pitch_ = in_ + std::max(last_.begin, behind);
    const std::int64_t fitting = long_row / pitch_;
    if (fitting == 0 || window_rows_ > largest_plane / out_rows_) return;
    threads_ = threads_for(spec, out);
    planes_together_ = std::max<std::int64_t>(1,
                                              std::min({fitting / out_rows_, largest_plane / plane_,
                                                        divide_up(out[0] * out[1], threads_)}));
    rows_together_ = divide_up(unit_rows(), divide_up(unit_rows(), fitting));
  }

  /// Whether sliding windows with stride 1 costs little compared to the rest.
  bool rows_are_short() const {
    if (last_.begin > long_row || last_.reach() > long_row) return false;
    const std::int64_t longest = (last_.stride == 1 ? 3 : 5) * count;
    return in_ <= longest && last_.kernel <= std::min(2 * in_, longest);
  }

  std::int64_t unit_rows() const { return planes_together_ * out_rows_; }
  /// Includes the elements that are read, or written as padding, past the last row.
  std::int64_t columns_size() const {
    return (rows_together_ + 1) * pitch_ + windows_together + last_.reach();
  }
  std::int64_t found_size() const { return (rows_together_ + 1) * pitch_ + windows_together; }
  std::int64_t copy_size() const { return planes_together_ * plane_ + count; }

  // ---- tables shared by all planes

  void prepare(StopCheck& stop, const Planes<Acc>& p, bool with_padding) const {
    windows_.prepare(stop, p, Reduction::is_mean, with_padding);
    std::fill_n(columns_, threads_ * columns_size(), Reduction::padding());
    if constexpr (Reduction::is_mean) {
      count_along(p.axes.back(), with_padding, counts_);
      Acc* to = divisors_;
      for (std::int64_t plane = 0; plane < planes_together_; ++plane)
        for (const RowWindow<Acc>& w : windows_.all())
          for (std::int64_t o = 0; o < out_; ++o) *to++ = w.elements * counts_[o];
    }
    stop.add_work(columns_size() + unit_rows() * out_);
  }

  // ---- a unit

  /// Pools planes [begin, end). Vector loads may read past a plane, so planes at the end of x,
  /// where this would leave the block of x, are copied first.
  void pool_unit(StopCheck& stop, const Planes<Acc>& p, std::int64_t begin, std::int64_t end,
                 int thread) const {
    if (!p.widens()) {
      const std::int64_t read_behind = std::max<std::int64_t>(count - in_, 0);
      const std::int64_t readable = p.planes - divide_up(read_behind, plane_);
      const std::int64_t last = std::clamp(readable, begin, end);
      if (begin < last) pool_planes(stop, p, p.x + begin * plane_, begin, last, thread);
      begin = last;
    }
    if (begin == end) return;
    Acc* const copy = copies_ + thread * copy_size();
    p.copy(begin * plane_, (end - begin) * plane_, copy);
    pool_planes(stop, p, copy, begin, end, thread);
  }

  /// x: the first element of plane `begin`.
  void pool_planes(StopCheck& stop, const Planes<Acc>& p, const Acc* x, std::int64_t begin,
                   std::int64_t end, int thread) const {
    const std::int64_t elements = (end - begin) * plane_, rows = (end - begin) * out_rows_;
    const std::int64_t first_y = begin * out_rows_ * out_;
    Acc* const y = p.widens() ? results_ + thread * unit_rows() * out_ : p.y + first_y;
    if (Reduction::checks_for_nans && may_have_nan(stop, x, elements))
      pool_rows<typename Reduction::WithNans>(stop, x, rows, y, thread);
    else pool_rows<Reduction>(stop, x, rows, y, thread);
    if constexpr (Reduction::is_mean) divide(y, rows * out_);
    if (p.widens()) p.write(y, rows * out_, first_y);
  }

  /// Divides sums by element counts.
  void divide(Acc* y, std::int64_t n) const {
    with_vectors([=, this] {
      for (std::int64_t i = 0; i < n; ++i) y[i] /= divisors_[i];
    });
  }

  template <class R>
  void pool_rows(StopCheck& stop, const Acc* x, std::int64_t rows, Acc* y, int thread) const {
    Acc* const columns = columns_ + thread * columns_size();
    Acc* const found = found_ + thread * found_size();
    for (std::int64_t first = 0; first < rows; first += rows_together_) {
      const std::int64_t n = std::min(rows_together_, rows - first);
      with_vectors([=, this] { reduce_columns<R>(x, first, n, columns + last_.begin); });
      with_vectors([=, this] { reduce_windows<R>(columns, n * pitch_, found); });
      with_vectors([=, this] { pick(found, n, y); });
      stop.add_work(n * pitch_ * (last_.kernel + window_rows_) / count);
      y += n * out_;
    }
  }

  // ---- columns

  template <class R>
  [[gnu::always_inline]] void reduce_columns(const Acc* x, std::int64_t first, std::int64_t n,
                                             Acc* to) const {
    if (in_ <= count) return reduce_columns<R, 1>(x, first, n, to);
    if (in_ <= 2 * count) return reduce_columns<R, 2>(x, first, n, to);
    if (in_ <= 3 * count) return reduce_columns<R, 3>(x, first, n, to);
    reduce_columns<R, 5>(x, first, n, to);
  }
  /// Reduces `several` vectors of columns for each of n rows. The last vectors end with the row. If
  /// a row is shorter than a vector, the elements that follow it in memory are read, too, and their
  /// results are overwritten with padding.
  template <class R, int several>
  [[gnu::always_inline]] void reduce_columns(const Acc* x, std::int64_t first, std::int64_t n,
                                             Acc* to) const {
    std::int64_t at[several];
#pragma GCC unroll 5
    for (int i = 0; i < several; ++i)
      at[i] = std::max<std::int64_t>(std::min(i * count, in_ - count), 0);
    const Acc* plane = x + first / out_rows_ * plane_;
    const RowWindow<Acc>* const end = windows_.all().data() + out_rows_;
    const RowWindow<Acc>* w = end - out_rows_ + first % out_rows_;
    for (std::int64_t r = 0; r < n; ++r) {
      const VectorGroup<R, several> columns = columns_of<R, several>(plane, *w, at);
#pragma GCC unroll 5
      for (int i = 0; i < several; ++i) Pack::store(columns.reductions[i].found, to + at[i]);
      if (in_ < count) Pack::store(Vector{} + Reduction::padding(), to + in_);
      to += pitch_;
      if (++w != end) continue;
      w -= out_rows_;
      plane += plane_;
    }
  }

  // ---- windows

  /// Reduces n windows, rounded up to a multiple of `windows_together`.
  template <class R>
  [[gnu::always_inline]] void reduce_windows(const Acc* columns, std::int64_t n, Acc* to) const {
    for (std::int64_t position = 0; position < n; position += windows_together) {
      VectorGroup<R, 4> windows;
      for (std::int64_t k = 0; k < last_.kernel; ++k) {
        const Acc* const from = columns + position + k * last_.dilation;
        windows.add_columns([&](int i) { return Pack::load(from + i * count); });
      }
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
        Pack::store(windows.reductions[i].found, to + position + i * count);
    }
  }

  /// Copies the results of n rows to y. If a row has fewer results than a vector, the vector also
  /// writes into the rows that follow, which are then overwritten; the last rows are written one
  /// element at a time.
  [[gnu::always_inline]] void pick(const Acc* found, std::int64_t n, Acc* y) const {
    const std::int64_t in_vectors = last_.stride > 2 ? 0
                                    : out_ >= count  ? n
                                                     : std::max<std::int64_t>(n - count / out_, 0);
    if (last_.stride == 1) pick_vectors<1>(found, in_vectors, y);
    else pick_vectors<2>(found, in_vectors, y);
    for (std::int64_t r = in_vectors; r < n; ++r)
      for (std::int64_t o = 0; o < out_; ++o)
        y[r * out_ + o] = found[r * pitch_ + o * last_.stride];
  }
  template <int stride>
  [[gnu::always_inline]] void pick_vectors(const Acc* found, std::int64_t n, Acc* y) const {
    const std::int64_t last = std::max<std::int64_t>(out_ - count, 0);
    for (std::int64_t r = 0; r < n; ++r, found += pitch_, y += out_)
      for (std::int64_t position = 0; position < out_; position += count) {
        const std::int64_t at = std::min(position, last);
        Vector v = Pack::load(found + at * stride);
        if constexpr (stride == 2)
          v = Pack::template every_second<0>(v, Pack::load(found + at * stride + count));
        Pack::store(v, y + at);
      }
  }

  WindowAxis last_{};
  std::int64_t in_ = 0, out_ = 0;     ///< extents of the last axis
  std::int64_t plane_ = 0;            ///< elements of a plane
  std::int64_t out_rows_ = 0;         ///< rows of results in a plane
  std::int64_t window_rows_ = 0;      ///< rows under a window, at most
  std::int64_t pitch_ = 0;            ///< stride from one short row to the next in a long row
  std::int64_t planes_together_ = 1;  ///< in a unit
  std::int64_t rows_together_ = 0;    ///< short rows in a long row
  int threads_ = 0;
  RowWindows<Acc> windows_;
  Acc* counts_ = nullptr;    ///< elements of a mean along the last axis, by position
  Acc* divisors_ = nullptr;  ///< elements of a mean, by result of a unit
  // One per thread.
  Acc* columns_ = nullptr;  ///< a long row of reduced columns
  Acc* found_ = nullptr;    ///< the reduced windows on the long row
  Acc* copies_ = nullptr;   ///< copies of planes, if x has another type or ends with them
  Acc* results_ = nullptr;  ///< results, if y has another type
};

}  // namespace rondel::kernels::pooling
