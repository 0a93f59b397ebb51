#pragma once
#include "base/checked.h"
#include "kernels/lane_windows.h"
#include "kernels/parallel_for.h"
#include "kernels/row_windows.h"

/// Pooling of planes whose rows are long. Used by fast pooling only.
namespace rondel::kernels::pooling {

/// A row of results is computed in two steps. The first step reduces the columns of its windows
/// (the elements along all axes but the last); a vector holds neighbouring columns. The second step
/// reduces the reduced columns under each window. If rows have many results, a vector then holds
/// neighbouring results; if they have few, it holds the same position of many rows. Work is divided
/// into units that stay in the cache: a band of a plane along its first axis, or several planes.
template <class Reduction> class LongRows {
  using Acc = typename Reduction::Acc;
  using Extents = std::span<const std::int64_t>;
  using Pack = typename Reduction::Pack;
  using Vector = typename Pack::Vector;
  static constexpr std::int64_t count = Pack::count, lanes = Lanes<Acc>::count;
  /// Whether vectors are so long that only some processors have registers for them. Such vectors
  /// hold neighbours only.
  static constexpr bool long_vectors = count == lanes;
  /// Elements of a unit that fit into the cache.
  static constexpr std::int64_t cached = 8192;
  /// Rows of results that go through the two steps together, and the elements that the second step
  /// may read of them. With a single row, the second step would wait for the stores of the first.
  static constexpr std::int64_t most_together = 16, together_elements = 4096;
  /// The most elements of a row that is put into one lane.
  static constexpr std::int64_t longest_in_lane = 4096;
  /// Element reads between two checks of the stop flag.
  static constexpr std::int64_t most_reads = std::int64_t{1} << 20;
  /// The most entries of the table of rows under windows, if a plane has fewer elements than that.
  static constexpr std::int64_t small_table = std::int64_t{1} << 16;

 public:
  void lay_out(Workspace& w, const PoolSpec& spec, Extents in, Extents out, bool widens) {
    find_sizes(spec, in, out);
    if (!fits()) return;
    bands_ = w.take<Range>(band_count());
    windows_.lay_out(w, planes_together_, out_rows_, window_rows_);
    offsets_ = w.take<std::int64_t>(in_lanes_ ? 0 : last_.kernel);
    counts_ = w.take<Acc>(Reduction::is_mean ? out_ : 0);
    columns_ = w.take<Acc>(splits() ? threads_ * most_rows() * read_ : 0);
    rows_ = w.take<Acc>(threads_ * rows_size());
    copies_ = w.take<Acc>(widens || read_ > in_ ? threads_ * copy_size() : 0);
    found_ = w.take<Acc>(widens ? threads_ * unit_rows() * out_ : 0);
    spans_ = w.take<Span>(in_lanes_ ? out_ : 0);
    slabs_ = w.take<Acc>(in_lanes_ ? threads_ * slab_size() : 0);
  }

  /// Whether this algorithm supports the shapes that `lay_out` was called with.
  bool fits() const { return threads_ > 0; }

  void run(StopCheck& stop, const Planes<Acc>& p, const PoolSpec& spec) const {
    prepare(stop, p, spec.count_include_pad);
    const std::int64_t bands = band_count();
    parallel_for(stop, threads_, divide_up(p.planes, planes_together_) * bands,
                 [&](StopCheck& own, std::int64_t unit, int thread) {
                   pool_unit(own, p, unit / bands * planes_together_, unit % bands, thread);
                 });
  }

 private:
  using Windows = std::span<const RowWindow<Acc>>;
  struct Range {
    std::int64_t begin, end;
  };
  /// A unit of work (a band of a plane, or several planes) and its buffers.
  struct Unit {
    const Acc* x;
    std::int64_t origin;  ///< the index of x[0] in the first plane
    Acc* columns;         ///< the reduced columns, if `rows` needs them in another order
    Acc* rows;            ///< the reduced columns in the order in which the second step reads them
    Acc* slab;            ///< `rows` interleaved by lane, followed by the results
    Acc* y;
  };

  // ---- sizes

  void find_sizes(const PoolSpec& spec, Extents in, Extents out) {
    const std::size_t last = spec.window.kernel.size() - 1;
    last_ = axis_of(spec.window, last, in.back(), spec.window.kernel[last]);
    in_ = in.back();
    out_ = out.back();
    plane_ = product(in.subspan(2));
    out_rows_ = product(out.subspan(2, last));
    inner_out_ = last == 0 ? 1 : product(out.subspan(3, last - 1));
    inner_in_ = last == 0 ? 1 : product(in.subspan(3, last - 1));
    window_rows_ = rows_under_window(spec, in);
    if (plane_ == 0 || window_rows_ > std::max(plane_, small_table) / out_rows_) return;
    if (Reduction::is_mean && !counts_exactly<Acc>(spec)) return;
    in_lanes_ = !neighbours_fit();
    if (in_lanes_ && (long_vectors || std::max(in_, out_) > longest_in_lane)) return;
    const std::int64_t stride = last_.stride;
    read_ = std::max(in_lanes_ || stride != 2 ? in_ : in_ + in_ % 2, count);
    phase_ = std::max(out_ + (last_.reach() - 1) / stride, divide_up(last_.begin + read_, stride));
    row_ = in_lanes_ ? read_ : phase_ * stride;
    threads_ = threads_for(spec, out);
    band_positions_ = band_rows_ = 1;
    if (last > 0) find_band(axis_of(spec.window, 0, in[2], spec.window.kernel[0]), in[2], out);
    if (band_count() == 1) find_planes(out[0] * out[1]);
  }

  /// Whether a vector can hold neighbouring results: rows are long enough.
  bool neighbours_fit() const {
    return out_ >= count && in_ >= count * std::min<std::int64_t>(last_.stride, 2) &&
           last_.kernel <= std::min(in_, most_reads / (2 * count)) &&
           reads_at_every_place(last_, in_, out_);
  }

  /// Chooses the number of positions of the first axis in a band.
  void find_band(const WindowAxis& w, std::int64_t in, Extents out) {
    const std::int64_t line = std::max<std::int64_t>(inner_in_ * in_, 1);
    const std::int64_t fitting = cached / line - w.reach();
    const std::int64_t least = (w.reach() - 1) / w.stride + 1;  // as many rows as bands share
    const std::int64_t shared = divide_up(out[0] * out[1] * out[2], threads_);
    band_positions_ = std::min(
        {std::max(fitting < 0 ? 1 : fitting / w.stride + 1, least), out[2], shared});
    band_rows_ = std::min((band_positions_ - 1) * w.stride + w.reach(), in) * inner_in_;
  }

  /// Chooses the number of planes in a unit: so many that they have `rows_together()` rows.
  void find_planes(std::int64_t planes) {
    planes_together_ = std::min({divide_up(rows_together(), out_rows_),
                                 divide_up(32 * cached, plane_), divide_up(planes, threads_)});
  }

  bool splits() const { return !in_lanes_ && last_.stride > 2; }
  std::int64_t rows_together() const {
    return in_lanes_ ? lanes : std::clamp<std::int64_t>(together_elements / row_, 2, most_together);
  }

  std::int64_t band_count() const { return divide_up(out_rows_ / inner_out_, band_positions_); }
  std::int64_t unit_rows() const { return planes_together_ * band_positions_ * inner_out_; }
  std::int64_t most_rows() const { return std::min(rows_together(), unit_rows()); }
  std::int64_t rows_size() const { return most_rows() * row_; }
  /// Includes the elements that are read past the last row.
  std::int64_t copy_size() const {
    return (band_count() == 1 ? planes_together_ * plane_ : band_rows_ * in_) + read_ - in_;
  }
  /// The reduced columns, the results, and one row for discarded results of unused lanes.
  std::int64_t slab_size() const { return (row_ + out_ + divide_up(out_, lanes)) * lanes; }

  // ---- tables shared by all planes

  void prepare(StopCheck& stop, const Planes<Acc>& p, bool with_padding) const {
    windows_.prepare(stop, p, Reduction::is_mean, with_padding);
    for (std::int64_t b = 0; b < band_count(); ++b) bands_[b] = rows_under(results_of(b));
    if constexpr (Reduction::is_mean) count_along(p.axes.back(), with_padding, counts_);
    if (in_lanes_)
      for (std::int64_t o = 0; o < out_; ++o) spans_[o] = p.axes.back().span_at(o);
    for (std::int64_t k = 0; k < last_.kernel && !in_lanes_; ++k) {
      const std::int64_t element = k * last_.dilation;
      offsets_[k] = element % last_.stride * phase_ + element / last_.stride;
    }
    std::fill_n(rows_, threads_ * rows_size(), Reduction::padding());
    stop.add_work(out_ * 16);
  }

  /// The rows of results of a band.
  Range results_of(std::int64_t band) const {
    const std::int64_t from = band * band_positions_ * inner_out_;
    return {from, std::min(from + band_positions_ * inner_out_, out_rows_)};
  }
  Windows windows_of(Range results) const {
    return windows_.all().subspan(static_cast<std::size_t>(results.begin),
                                  static_cast<std::size_t>(results.end - results.begin));
  }
  /// The elements of a plane under the windows of these rows of results.
  Range rows_under(Range results) const {
    Range rows{std::numeric_limits<std::int64_t>::max(), 0};
    for (const RowWindow<Acc>& w : windows_of(results)) {
      if (w.count == 0) continue;
      rows.begin = std::min(rows.begin, w.starts[0]);
      rows.end = std::max(rows.end, w.starts[w.count - 1] + in_);
    }
    return {std::min(rows.begin, rows.end), rows.end};
  }

  // ---- a unit

  void pool_unit(StopCheck& stop, const Planes<Acc>& p, std::int64_t plane, std::int64_t band,
                 int thread) const {
    const std::int64_t planes = std::min(planes_together_, p.planes - plane);
    const Range results = results_of(band);
    const Range read = planes == 1 ? bands_[band] : Range{0, planes * plane_};
    const std::int64_t rows = planes * (results.end - results.begin);
    const Windows windows = windows_of({results.begin, results.begin + rows});
    const std::int64_t first_x = plane * plane_ + read.begin;
    const std::int64_t first_y = (plane * out_rows_ + results.begin) * out_;
    Unit unit;
    unit.columns = columns_ + (splits() ? thread * most_rows() * read_ : 0);
    unit.rows = rows_ + thread * rows_size();
    unit.slab = slabs_ + (in_lanes_ ? thread * slab_size() : 0);
    unit.x = p.widens() ? nullptr : p.x + first_x;
    unit.origin = read.begin;
    unit.y = p.widens() ? found_ + thread * unit_rows() * out_ : p.y + first_y;
    const std::int64_t elements = read.end - read.begin, behind = read_ - in_;
    if (p.widens() || first_x + elements + behind > p.planes * plane_) {
      Acc* const copy = copies_ + thread * copy_size();
      p.copy(first_x, elements, copy);
      std::fill_n(copy + elements, behind, Acc{});
      unit.x = copy;
    }
    if (Reduction::checks_for_nans && may_have_nan(stop, unit.x, elements))
      pool_rows<typename Reduction::WithNans>(stop, unit, windows);
    else pool_rows<Reduction>(stop, unit, windows);
    if (p.widens()) p.write(unit.y, rows * out_, first_y);
  }

  template <class R> void pool_rows(StopCheck& stop, const Unit& unit, Windows windows) const {
    const auto together = static_cast<std::size_t>(rows_together());
    for (Acc* y = unit.y; !windows.empty(); y += rows_together() * out_) {
      const Windows some = windows.first(std::min(together, windows.size()));
      pool_some<R>(stop, unit, some, y);
      windows = windows.subspan(some.size());
    }
  }

  template <class R>
  void pool_some(StopCheck& stop, const Unit& unit, Windows windows, Acc* y) const {
    const auto n = static_cast<std::int64_t>(windows.size());
    const std::int64_t stride = in_lanes_ ? 1 : last_.stride;
    Acc* const columns = stride > 2 ? unit.columns : unit.rows + (in_lanes_ ? 0 : last_.begin);
    in_parts(stop, in_, n * window_rows_, [=, this](std::int64_t begin, std::int64_t until) {
      const Acc* const x = unit.x - unit.origin;
      for (std::int64_t r = 0; r < n; ++r)
        if (stride == 2)
          reduce_columns_in_two<R>(x, windows[r], begin, until, unit.rows + r * row_);
        else
          reduce_columns<R>(x, windows[r], begin, until, columns + r * (stride > 2 ? read_ : row_));
    });
    if (stride > 2)
      in_parts(stop, in_, n, [=, this](std::int64_t begin, std::int64_t until) {
        for (std::int64_t r = 0; r < n; ++r)
          split(columns + r * read_, begin, until, unit.rows + r * row_);
      });
    if constexpr (!long_vectors)
      if (in_lanes_) return pool_lanes<R>(stop, unit, windows, y);
    reduce_neighbours<R>(stop, unit.rows, windows, y);
  }

  /// Calls act(begin, until) for parts of n positions, with stop checks between. `reads`: elements
  /// read per position.
  template <class F>
  static void in_parts(StopCheck& stop, std::int64_t n, std::int64_t reads, const F& act) {
    if (n * (reads + 1) <= most_reads) return part(stop, 0, n, reads, act);
    const std::int64_t most = (most_reads / (reads + 1) + 2 * count) / (2 * count) * (2 * count);
    for (std::int64_t begin = 0; begin < n; begin += most)
      part(stop, begin, std::min(begin + most, n), reads, act);
  }
  template <class F>
  static void part(StopCheck& stop, std::int64_t begin, std::int64_t until, std::int64_t reads,
                   const F& act) {
    if constexpr (long_vectors) with_avx512([=] { act(begin, until); });
    else with_vectors([=] { act(begin, until); });
    stop.add_work((until - begin) * (reads + 1) / count);
  }

  // ---- the first step

  /// Reduces columns [begin, until). If a row is shorter than a vector, the elements that follow it
  /// in memory are read, too.
  template <class R>
  [[gnu::always_inline]] void reduce_columns(const Acc* x, const RowWindow<Acc>& w,
                                             std::int64_t begin, std::int64_t until,
                                             Acc* to) const {
    each_vectors(begin, until, read_, [&]<int several>(const std::int64_t(&at)[several]) {
      const VectorGroup<R, several> columns = columns_of<R, several>(x + w.plane, w, at);
#pragma GCC unroll 4
      for (int i = 0; i < several; ++i) Pack::store(columns.reductions[i].found, to + at[i]);
    });
  }

  /// The same for stride 2: the even positions of the padded row are stored first, then the odd
  /// ones. The padding has been written before. In a row with an odd number of elements, the
  /// element that follows it in memory is read, too, and its result is overwritten with padding.
  template <class R>
  [[gnu::always_inline]] void reduce_columns_in_two(const Acc* x, const RowWindow<Acc>& w,
                                                    std::int64_t begin, std::int64_t until,
                                                    Acc* row) const {
    Acc* const first = row + last_.begin % 2 * phase_ + last_.begin / 2;
    Acc* const second = row + (last_.begin + 1) % 2 * phase_ + (last_.begin + 1) / 2;
    const std::int64_t last = read_ - 2 * count;
    std::int64_t position = begin;
    for (; position + 2 * count < until; position += 4 * count)
      reduce_pairs<R, 2>(x, w, position, last, first, second);
    if (position < until) reduce_pairs<R, 1>(x, w, position, last, first, second);
    if (read_ > in_ && until == in_) second[in_ / 2] = Reduction::padding();
  }
  /// Reduces `pairs` pairs of vectors from `position` on. No pair begins after `last`.
  template <class R, int pairs>
  [[gnu::always_inline]] static void reduce_pairs(const Acc* x, const RowWindow<Acc>& w,
                                                  std::int64_t position, std::int64_t last,
                                                  Acc* first, Acc* second) {
    std::int64_t at[2 * pairs];
#pragma GCC unroll 2
    for (int i = 0; i < pairs; ++i) {
      at[2 * i] = std::min(position + 2 * i * count, last);
      at[2 * i + 1] = at[2 * i] + count;
    }
    const VectorGroup<R, 2 * pairs> vectors = columns_of<R, 2 * pairs>(x + w.plane, w, at);
#pragma GCC unroll 2
    for (int i = 0; i < pairs; ++i) {
      const Vector &low = vectors.reductions[2 * i].found,
                   &high = vectors.reductions[2 * i + 1].found;
      Pack::store(Pack::template every_second<0>(low, high), first + at[2 * i] / 2);
      Pack::store(Pack::template every_second<1>(low, high), second + at[2 * i] / 2);
    }
  }

  // ---- the second step, neighbours in a vector

  /// Reorders elements [from, until) of a row by their phase, the position modulo the stride. Each
  /// phase is contiguous in the result. The padding of the row has been written before.
  [[gnu::always_inline]] void split(const Acc* x, std::int64_t from, std::int64_t until,
                                    Acc* row) const {
    for (std::int64_t i = from; i < std::min(from + last_.stride, until); ++i) {
      Acc* to = row + (last_.begin + i) % last_.stride * phase_ + (last_.begin + i) / last_.stride;
      for (std::int64_t j = i; j < until; j += last_.stride) *to++ = x[j];
    }
  }

  template <class R>
  void reduce_neighbours(StopCheck& stop, const Acc* rows, Windows windows, Acc* y) const {
    const auto n = static_cast<std::int64_t>(windows.size());
    in_parts(stop, out_, n * last_.kernel, [=, this](std::int64_t begin, std::int64_t until) {
      for (std::int64_t r = 0; r < n; ++r)
        reduce_windows<R>(rows + r * row_, windows[r], begin, until, y + r * out_);
    });
  }

  /// Computes results [begin, until) of a row.
  template <class R>
  [[gnu::always_inline]] void reduce_windows(const Acc* row, const RowWindow<Acc>& w,
                                             std::int64_t begin, std::int64_t until, Acc* y) const {
    if (w.count == 0 && !Reduction::is_mean) {
      std::fill(y + begin, y + until, Acc{});
      return;
    }
    each_vectors(begin, until, out_, [&]<int several>(const std::int64_t(&at)[several]) {
      VectorGroup<R, several> vectors;
      for (std::int64_t k = 0; k < last_.kernel; ++k) {
        const Acc* const from = row + offsets_[k];
        vectors.add_columns([&](int i) { return Pack::load(from + at[i]); });
      }
#pragma GCC unroll 4
      for (int i = 0; i < several; ++i) {
        Vector v = vectors.reductions[i].found;
        if constexpr (Reduction::is_mean) v /= w.elements * Pack::load(counts_ + at[i]);
        Pack::store(v, y + at[i]);
      }
    });
  }

  // ---- the second step, rows in lanes

  template <class R>
  void pool_lanes(StopCheck& stop, const Unit& unit, Windows windows, Acc* y) const {
    Acc* const found = unit.slab + row_ * lanes;
    const Acc* from[lanes];
    Acc* to[lanes];
    Acc elements[lanes];
    for (std::int64_t l = 0; l < lanes; ++l) {
      const bool used = l < static_cast<std::int64_t>(windows.size());
      from[l] = unit.rows + (used ? l * row_ : 0);
      to[l] = used ? y + l * out_ : found + out_ * lanes;
      elements[l] = windows[used ? l : 0].elements;
    }
    interleave_all(stop, from, row_, unit.slab);
    const std::int64_t start = 0;
    const LaneRow<Acc> row{unit.slab, &start, 1, spans_, last_.dilation, found, nullptr};
    row.template pool_all<R>(stop, out_);
    if constexpr (Reduction::is_mean) divide_lanes(found, elements);
    if (out_ == 1) std::copy_n(found, windows.size(), y);
    else deinterleave_all(stop, found, out_, to);
    if constexpr (!Reduction::is_mean)
      for (std::size_t r = 0; r < windows.size(); ++r)
        if (windows[r].count == 0) std::fill_n(to[r], out_, Acc{});
  }

  /// Divides sums by element counts.
  void divide_lanes(Acc* found, const Acc* elements) const {
    with_vectors([&] {
      const Vector of_rows[2] = {Pack::load(elements), Pack::load(elements + count)};
      for (std::int64_t o = 0; o < out_; ++o)
        for (int h = 0; h < 2; ++h) {
          Acc* const at = found + o * lanes + h * count;
          Pack::store(Pack::load(at) / (of_rows[h] * counts_[o]), at);
        }
    });
  }

  // ---- vectors

  /// Calls act(positions of several vectors) to cover positions [begin, until) of n. The last
  /// vector ends with the row and may overlap those before.
  template <class F>
  [[gnu::always_inline]] static void each_vectors(std::int64_t begin, std::int64_t until,
                                                  std::int64_t n, const F& act) {
    std::int64_t position = begin;
    for (; position + 2 * count < until; position += 4 * count) at<4>(position, n - count, act);
    if (position + count < until) at<2>(position, n - count, act);
    else if (position < until) at<1>(position, n - count, act);
  }
  template <int several, class F>
  [[gnu::always_inline]] static void at(std::int64_t position, std::int64_t last, const F& act) {
    std::int64_t positions[several];
#pragma GCC unroll 4
    for (int i = 0; i < several; ++i) positions[i] = std::min(position + i * count, last);
    act(positions);
  }

  WindowAxis last_{};
  std::int64_t in_ = 0, out_ = 0;              ///< extents of the last axis
  std::int64_t plane_ = 0;                     ///< elements of a plane
  std::int64_t out_rows_ = 0;                  ///< rows of results in a plane
  std::int64_t inner_in_ = 0, inner_out_ = 0;  ///< rows for one index of the first axis
  std::int64_t window_rows_ = 0;               ///< rows under a window, at most
  bool in_lanes_ = false;                      ///< the second step has one row per lane
  std::int64_t read_ = 0;                      ///< elements that the first step reads of a row
  std::int64_t row_ = 0;                       ///< elements that the second step may read of a row
  std::int64_t phase_ = 0;                     ///< elements of one phase of the stride
  std::int64_t band_positions_ = 0,
               band_rows_ = 0;        ///< of a band: positions of the first axis; rows
  std::int64_t planes_together_ = 1;  ///< planes in a unit; 1 if a plane has several bands
  int threads_ = 0;
  Range* bands_ = nullptr;  ///< per band: the elements of a plane that it reads
  RowWindows<Acc> windows_;
  std::int64_t* offsets_ = nullptr;  ///< of a window's elements in a row
  Acc* counts_ = nullptr;            ///< elements of a mean along the last axis, by position
  Span* spans_ = nullptr;            ///< the part of a row under the window, by position
  // One per thread.
  Acc* columns_ = nullptr;  ///< `Unit::columns`
  Acc* rows_ = nullptr;     ///< `Unit::rows`
  Acc* copies_ = nullptr;   ///< a copy of the unit's part of x, if x has another type or ends there
  Acc* found_ = nullptr;    ///< results, if y has another type
  Acc* slabs_ = nullptr;
};

}  // namespace rondel::kernels::pooling
