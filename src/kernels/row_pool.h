#pragma once
#include "kernels/lane_windows.h"
#include "kernels/pool_planes.h"
#include "kernels/share_out.h"

#include <utility>

/// Pooling row by row. Not for others than fast pooling.
namespace rondel::kernels::pooling {

/// A row of results is made in two steps: what the columns (of all axes but the last) of its
/// windows gather, with neighbours in a vector, then what the windows gather of that. In the second
/// step neighbours stand in a vector where rows are long enough; where they are short, the same
/// place of many rows does. What is read together stays in a near cache: a band of a plane along
/// its first axis, or some planes.
template <class Kind> class AlongRows {
  using Acc = typename Kind::Acc;
  using Extents = std::span<const std::int64_t>;
  using Part = typename Kind::Part;
  using Vector = typename Part::Vector;
  using Unaligned = typename Part::Unaligned;
  static constexpr std::int64_t count = Part::count, lanes = Lanes<Acc>::count;
  /// Whether a vector is as long as only some processors have registers for: neighbours alone stand
  /// in it.
  static constexpr bool long_vectors = count == lanes;
  /// Elements that are read together.
  static constexpr std::int64_t cached = 8192;
  /// Rows of results that are made together, and what the second step may read of them: what was
  /// just written would have to be waited for.
  static constexpr std::int64_t most_together = 16, together_elements = 4096;
  /// Elements of a row that stands in a lane.
  static constexpr std::int64_t longest_in_lane = 4096;
  /// Element reads between two looks at the stop flag.
  static constexpr std::int64_t most_reads = std::int64_t{1} << 20;
  /// Entries of the table of rows under windows, where a plane has fewer elements.
  static constexpr std::int64_t small_table = std::int64_t{1} << 16;

 public:
  void lay_out(Workspace& w, const PoolSpec& spec, Extents in, Extents out, bool widens) {
    find_sizes(spec, in, out);
    if (!fits()) return;
    bands_ = w.take<Range>(band_count());
    windows_ = w.take<Window>(planes_together_ * out_rows_);
    starts_ = w.take<std::int64_t>(out_rows_ * window_rows_);
    offsets_ = w.take<std::int64_t>(in_lanes_ ? 0 : last_.kernel);
    counts_ = w.take<Acc>(Kind::is_mean ? std::max(out_, count) : 0);
    columns_ = w.take<Acc>(splits() ? threads_ * most_rows() * read_ : 0);
    rows_ = w.take<Acc>(threads_ * rows_size());
    copies_ = w.take<Acc>(widens || read_ > in_ ? threads_ * copy_size() : 0);
    found_ = w.take<Acc>(widens ? threads_ * unit_rows() * out_ : 0);
    spans_ = w.take<Span>(in_lanes_ ? out_ : 0);
    slabs_ = w.take<Acc>(in_lanes_ ? threads_ * slab_size() : 0);
  }

  /// Whether rows are not too long for the lanes, and windows have few rows.
  bool fits() const { return threads_ > 0; }

  void run(StopCheck& stop, const Planes<Acc>& p, const PoolSpec& spec) const {
    prepare(stop, p, spec.count_include_pad);
    const std::int64_t bands = band_count();
    share_out(stop, threads_, divide_up(p.planes, planes_together_) * bands,
              [&](StopCheck& own, std::int64_t unit, int thread) {
                pool_unit(own, p, unit / bands * planes_together_, unit % bands, thread);
              });
  }

 private:
  /// A row of windows, in one of the planes that are pooled together.
  struct Window {
    const std::int64_t* starts;  ///< the rows that it reads, in its plane
    std::int64_t count;          ///< of them
    std::int64_t plane;          ///< the first element of its plane
    Acc elements;                ///< of these axes, that a mean is of
  };
  using Windows = std::span<const Window>;
  struct Range {
    std::int64_t begin, end;
  };
  /// Some rows of a plane, or some planes; and where they are pooled.
  struct Unit {
    const Acc* x;
    std::int64_t origin;  ///< the number of x[0] in the first plane
    Acc* columns;         ///< what columns gather, where windows do not read it so
    Acc* rows;            ///< what windows read
    Acc* slab;            ///< the same in lanes, and results
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
    in_lanes_ = !neighbours_fit();
    if (in_lanes_ && (long_vectors || std::max(in_, out_) > longest_in_lane)) return;
    const std::int64_t stride = last_.stride;
    read_ = std::max(in_, !in_lanes_ && stride == 2 ? 2 * count : count);
    phase_ = std::max(std::max(out_, count) + (last_.reach() - 1) / stride,
                      divide_up(last_.begin + read_, stride));
    row_ = in_lanes_ ? read_ : phase_ * stride;
    pads_behind_ = !in_lanes_ && (out_ - 1) * stride + last_.reach() > last_.begin + in_;
    threads_ = threads_for(spec, out);
    band_places_ = band_rows_ = 1;
    if (last > 0) find_band(axis_of(spec.window, 0, in[2], spec.window.kernel[0]), in[2], out);
    if (band_count() == 1) find_planes(out[0] * out[1]);
  }

  /// Whether neighbours can stand in a vector: rows are long enough, or shorter than one vector but
  /// not by much.
  bool neighbours_fit() const {
    const bool fill = out_ >= count && in_ >= count * std::min<std::int64_t>(last_.stride, 2);
    const bool nearly = !long_vectors && 2 * out_ >= count;
    return (fill || nearly) && last_.begin >= 0 && reads_at_every_place(last_, in_, out_);
  }

  /// How many places of the first axis make a band.
  void find_band(const WindowAxis& w, std::int64_t in, Extents out) {
    const std::int64_t line = std::max<std::int64_t>(inner_in_ * in_, 1);
    const std::int64_t fitting = cached / line - w.reach();
    const std::int64_t least = (w.reach() - 1) / w.stride + 1;  // as many rows as bands share
    const std::int64_t shared = divide_up(out[0] * out[1] * out[2], threads_);
    band_places_ = std::min(
        {std::max(fitting < 0 ? 1 : fitting / w.stride + 1, least), out[2], shared});
    band_rows_ = std::min((band_places_ - 1) * w.stride + w.reach(), in) * inner_in_;
  }

  /// How many planes are pooled together: as many as have the rows that are made together.
  void find_planes(std::int64_t planes) {
    planes_together_ = std::min({divide_up(rows_together(), out_rows_),
                                 divide_up(32 * cached, plane_), divide_up(planes, threads_)});
  }

  bool splits() const { return !in_lanes_ && last_.stride > 2; }
  std::int64_t rows_together() const {
    return in_lanes_ ? lanes : std::clamp<std::int64_t>(together_elements / row_, 2, most_together);
  }

  std::int64_t band_count() const { return divide_up(out_rows_ / inner_out_, band_places_); }
  std::int64_t unit_rows() const { return planes_together_ * band_places_ * inner_out_; }
  std::int64_t most_rows() const { return std::min(rows_together(), unit_rows()); }
  std::int64_t rows_size() const { return most_rows() * row_; }
  /// With what is read behind the last row.
  std::int64_t copy_size() const {
    return (band_count() == 1 ? planes_together_ * plane_ : band_rows_ * in_) + read_ - in_;
  }
  /// A slab of what columns gather, one of results, and a row that nobody reads.
  std::int64_t slab_size() const { return (row_ + out_) * lanes + out_; }

  // ---- what is the same for all planes

  void prepare(StopCheck& stop, const Planes<Acc>& p, bool with_padding) const {
    const std::span<const Axis> outer = p.axes.first(p.axes.size() - 1);
    Window* w = windows_;
    std::int64_t* next = starts_;
    each_position(stop, outer, p.spans, 0, [&] {
      w->starts = next;
      under(outer, p.spans, 0, 0, 0, [&](std::int64_t offset, std::int64_t) { *next++ = offset; });
      w->count = next - w->starts;
      w->plane = 0;
      w->elements = static_cast<Acc>(Kind::is_mean ? counted({p.spans, outer.size()}, with_padding)
                                                   : 1);
      stop.add_work(w->count * 16);
      ++w;
    });
    for (const Window* same = windows_; w < windows_ + planes_together_ * out_rows_; ++w, ++same) {
      *w = *same;
      w->plane += plane_;
    }
    for (std::int64_t b = 0; b < band_count(); ++b) bands_[b] = rows_under(results_of(b));
    if constexpr (Kind::is_mean) {
      std::fill_n(counts_, std::max(out_, count), Acc{1});
      count_along(p.axes.back(), with_padding, counts_);
    }
    if (in_lanes_)
      for (std::int64_t o = 0; o < out_; ++o) spans_[o] = p.axes.back().span_at(o);
    for (std::int64_t k = 0; k < last_.kernel && !in_lanes_; ++k) {
      const std::int64_t element = k * last_.dilation;
      offsets_[k] = element % last_.stride * phase_ + element / last_.stride;
    }
    std::fill_n(rows_, threads_ * rows_size(), Kind::padding());
    stop.add_work(out_ * 16);
  }

  /// The rows of results that a band gives.
  Range results_of(std::int64_t band) const {
    const std::int64_t from = band * band_places_ * inner_out_;
    return {from, std::min(from + band_places_ * inner_out_, out_rows_)};
  }
  /// The elements that rows of results are made of.
  Range rows_under(Range results) const {
    Range rows{std::numeric_limits<std::int64_t>::max(), 0};
    for (std::int64_t o = results.begin; o < results.end; ++o) {
      const Window& w = windows_[o];
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
    const Windows windows(windows_ + results.begin, static_cast<std::size_t>(rows));
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
    stop.add_work(elements);
    pool_rows(stop, unit, windows);
    if (p.widens()) p.write(unit.y, rows * out_, first_y);
  }

  void pool_rows(StopCheck& stop, const Unit& unit, Windows windows) const {
    const auto together = static_cast<std::size_t>(rows_together());
    for (Acc* y = unit.y; !windows.empty(); y += rows_together() * out_) {
      const Windows some = windows.first(std::min(together, windows.size()));
      if (!pool<Kind>(stop, unit, some, y)) pool<typename Kind::WithNans>(stop, unit, some, y);
      windows = windows.subspan(some.size());
    }
  }

  /// Some rows of windows. False: there may be a NaN, which K does not look for.
  template <class K> bool pool(StopCheck& stop, const Unit& unit, Windows windows, Acc* y) const {
    const auto n = static_cast<std::int64_t>(windows.size());
    const std::int64_t stride = in_lanes_ ? 1 : last_.stride;
    Acc* const columns = stride > 2 ? unit.columns : unit.rows + (in_lanes_ ? 0 : last_.begin);
    Vector sum{};
    in_parts(stop, in_, n * window_rows_, [=, this, &sum](std::int64_t begin, std::int64_t until) {
      const Acc* const x = unit.x - unit.origin;
      Vector own{};
      for (std::int64_t r = 0; r < n; ++r)
        if (stride == 2)
          pool_columns_in_two<K>(x, windows[r], begin, until, unit.rows + r * row_, own);
        else
          pool_columns<K>(x, windows[r], begin, until, columns + r * (stride > 2 ? read_ : row_),
                          own);
      sum += own;
    });
    if constexpr (K::asks_for_nans)
      for (int l = 0; l < count; ++l)
        if (sum[l] != sum[l]) return false;
    if (stride > 2)
      in_parts(stop, in_, n, [=, this](std::int64_t begin, std::int64_t until) {
        for (std::int64_t r = 0; r < n; ++r)
          split(columns + r * read_, begin, until, unit.rows + r * row_);
      });
    if constexpr (!long_vectors)
      if (in_lanes_) {
        pool_lanes<K>(stop, unit, windows, y);
        return true;
      }
    pool_neighbours<K>(stop, unit.rows, windows, y);
    return true;
  }

  /// Calls act(begin, until) for parts of n places, at each of which so many elements are read.
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
    with_vectors([=] { act(begin, until); });
    stop.add_work((until - begin) * (reads + 1) / count);
  }

  // ---- the first step

  /// What columns [begin, until) gather. Where NaNs are asked for, the elements are added to `sum`,
  /// which then is a NaN (or where there are two infinities). A row that is shorter than a vector
  /// is read with what stands behind it, which padding is then written over.
  template <class K>
  [[gnu::always_inline]] void pool_columns(const Acc* x, const Window& w, std::int64_t begin,
                                           std::int64_t until, Acc* to, Vector& sum) const {
    each_vector<K>(
        begin, until, read_,
        [&](auto& vectors, const std::int64_t* at) { gather_columns(vectors, x, w, at, sum); },
        [&](const Vector& v, std::int64_t at) { store(v, to + at); });
    if (pads_behind_ && in_ < count) std::fill(to + in_, to + count, Kind::padding());
  }
  template <class Some>
  [[gnu::always_inline]] static void gather_columns(Some& vectors, const Acc* x, const Window& w,
                                                    const std::int64_t* at, Vector& sum) {
    x += w.plane;
    for (std::int64_t r = 0; r < w.count; ++r) {
      const Acc* const from = x + w.starts[r];
      vectors.add([&](int i) { return load(from + at[i]); });
    }
    vectors.end_column();
    if constexpr (Some::Gatherer::asks_for_nans) sum += vectors.sum();
  }

  /// The same where windows read every second element: those stand together, then the others, in a
  /// row that has its padding already.
  template <class K>
  [[gnu::always_inline]] void pool_columns_in_two(const Acc* x, const Window& w, std::int64_t begin,
                                                  std::int64_t until, Acc* row, Vector& sum) const {
    Acc* const first = row + last_.begin % 2 * phase_ + last_.begin / 2;
    Acc* const second = row + (last_.begin + 1) % 2 * phase_ + (last_.begin + 1) / 2;
    const std::int64_t last = (read_ / 2 - count) * 2;
    std::int64_t place = begin;
    for (; place + 2 * count < until; place += 4 * count)
      pool_pairs<K, 2>(x, w, place, last, first, second, sum);
    if (place < until) pool_pairs<K, 1>(x, w, place, last, first, second, sum);
    if (in_ < 2 * count) {
      if (!pads_behind_) return;
      std::fill(first + (in_ + 1) / 2, first + count, Kind::padding());
      std::fill(second + in_ / 2, second + count, Kind::padding());
      return;
    }
    if (in_ % 2 == 0 || until < in_) return;
    const std::int64_t at = in_ - count;
    Vectors<K, 1> vectors;
    gather_columns(vectors, x, w, &at, sum);
    first[in_ / 2] = vectors.kinds[0].found[count - 1];
  }
  /// So many pairs of vectors, from `place` on, the last of which begins at `last`.
  template <class K, int pairs>
  [[gnu::always_inline]] static void pool_pairs(const Acc* x, const Window& w, std::int64_t place,
                                                std::int64_t last, Acc* first, Acc* second,
                                                Vector& sum) {
    std::int64_t at[2 * pairs];
#pragma GCC unroll 2
    for (int i = 0; i < pairs; ++i) {
      at[2 * i] = std::min(place + 2 * i * count, last);
      at[2 * i + 1] = at[2 * i] + count;
    }
    Vectors<K, 2 * pairs> vectors;
    gather_columns(vectors, x, w, at, sum);
#pragma GCC unroll 2
    for (int i = 0; i < pairs; ++i) {
      const Vector &low = vectors.kinds[2 * i].found, &high = vectors.kinds[2 * i + 1].found;
      store(every_second<0>(low, high, std::make_index_sequence<count>()), first + at[2 * i] / 2);
      store(every_second<1>(low, high, std::make_index_sequence<count>()), second + at[2 * i] / 2);
    }
  }
  template <int first, std::size_t... i>
  [[gnu::always_inline]] static Vector every_second(const Vector& low, const Vector& high,
                                                    std::index_sequence<i...>) {
    return __builtin_shufflevector(low, high, (2 * i + first)...);
  }

  // ---- the second step, neighbours in a vector

  /// Elements [from, until) of a row, as windows read them: every so many-th stands together. The
  /// row has its padding already.
  [[gnu::always_inline]] void split(const Acc* x, std::int64_t from, std::int64_t until,
                                    Acc* row) const {
    for (std::int64_t i = from; i < std::min(from + last_.stride, until); ++i) {
      Acc* to = row + (last_.begin + i) % last_.stride * phase_ + (last_.begin + i) / last_.stride;
      for (std::int64_t j = i; j < until; j += last_.stride) *to++ = x[j];
    }
  }

  template <class K>
  void pool_neighbours(StopCheck& stop, const Acc* rows, Windows windows, Acc* y) const {
    const auto n = static_cast<std::int64_t>(windows.size());
    in_parts(stop, out_, n * last_.kernel, [=, this](std::int64_t begin, std::int64_t until) {
      for (std::int64_t r = 0; r < n; ++r)
        pool_row<K>(rows + r * row_, windows[r], begin, until, y + r * out_, (n - r) * out_);
    });
  }

  /// Results [begin, until) of a row, where `room` results may be written. Others are overwritten
  /// by the rows behind.
  template <class K>
  [[gnu::always_inline]] void pool_row(const Acc* row, const Window& w, std::int64_t begin,
                                       std::int64_t until, Acc* y, std::int64_t room) const {
    if (room >= count) return pool_windows<K>(row, w, begin, until, y);
    Acc results[count];
    pool_windows<K>(row, w, begin, until, results);
    std::copy_n(results, out_, y);
  }
  template <class K>
  [[gnu::always_inline]] void pool_windows(const Acc* row, const Window& w, std::int64_t begin,
                                           std::int64_t until, Acc* y) const {
    if (w.count == 0 && !Kind::is_mean) {
      std::fill(y + begin, y + until, Acc{});
      return;
    }
    each_vector<K>(
        begin, until, std::max(out_, count),
        [&](auto& vectors, const std::int64_t* at) {
          for (std::int64_t k = 0; k < last_.kernel; ++k) {
            const Acc* const from = row + offsets_[k];
            vectors.add_columns([&](int i) { return load(from + at[i]); });
          }
        },
        [&](const Vector& v, std::int64_t at) {
          if constexpr (Kind::is_mean) store(v / (w.elements * load(counts_ + at)), y + at);
          else store(v, y + at);
        });
  }

  // ---- the second step, rows in lanes

  template <class K>
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
    row.template pool_all<K>(stop, out_);
    if constexpr (Kind::is_mean) divide_lanes(found, elements);
    if (out_ == 1) std::copy_n(found, windows.size(), y);
    else deinterleave_all(stop, found, out_, to);
    if constexpr (!Kind::is_mean)
      for (std::size_t r = 0; r < windows.size(); ++r)
        if (windows[r].count == 0) std::fill_n(to[r], out_, Acc{});
  }

  /// Sums become means.
  void divide_lanes(Acc* found, const Acc* elements) const {
    with_vectors([&] {
      const Vector of_rows[2] = {load(elements), load(elements + count)};
      for (std::int64_t o = 0; o < out_; ++o)
        for (int h = 0; h < 2; ++h) {
          Acc* const at = found + o * lanes + h * count;
          store(load(at) / (of_rows[h] * counts_[o]), at);
        }
    });
  }

  // ---- vectors

  /// Vectors of places that gather in step, so that none waits for itself.
  template <class K, int several> struct Vectors {
    using Gatherer = K;
    template <class F> [[gnu::always_inline]] void add(const F& load) {
#pragma GCC unroll 4
      for (int i = 0; i < several; ++i) {
        const Vector v = load(i);
        kinds[i].add(v, 0);
        if constexpr (K::asks_for_nans) sums[i] += v;
      }
    }
    [[gnu::always_inline]] Vector sum() const {
      if constexpr (several == 4) return (sums[0] + sums[1]) + (sums[2] + sums[3]);
      else if constexpr (several == 2) return sums[0] + sums[1];
      else return sums[0];
    }
    template <class F> [[gnu::always_inline]] void add_columns(const F& load) {
#pragma GCC unroll 4
      for (int i = 0; i < several; ++i) kinds[i].add_column(load(i));
    }
    [[gnu::always_inline]] void end_column() {
#pragma GCC unroll 4
      for (int i = 0; i < several; ++i) kinds[i].end_column();
    }
    K kinds[several];
    Vector sums[several]{};  ///< of what was added, where NaNs are asked for
  };

  /// Calls gather(vectors, their places), and write(a vector, its place), for places [from, end) of
  /// n: the last vector ends with the row.
  template <class K, class Gather, class Write>
  [[gnu::always_inline]] static void each_vector(std::int64_t from, std::int64_t end,
                                                 std::int64_t n, const Gather& gather,
                                                 const Write& write) {
    std::int64_t place = from;
    for (; place + 2 * count < end; place += 4 * count) at<K, 4>(place, n - count, gather, write);
    if (place + count < end) at<K, 2>(place, n - count, gather, write);
    else if (place < end) at<K, 1>(place, n - count, gather, write);
  }
  template <class K, int several, class Gather, class Write>
  [[gnu::always_inline]] static void at(std::int64_t place, std::int64_t last, const Gather& gather,
                                        const Write& write) {
    std::int64_t places[several];
#pragma GCC unroll 4
    for (int i = 0; i < several; ++i) places[i] = std::min(place + i * count, last);
    Vectors<K, several> vectors;
    gather(vectors, places);
#pragma GCC unroll 4
    for (int i = 0; i < several; ++i) write(vectors.kinds[i].found, places[i]);
  }

  [[gnu::always_inline]] static void store(const Vector& v, Acc* to) {
    *reinterpret_cast<Unaligned*>(to) = v;
  }
  [[gnu::always_inline]] static Vector load(const Acc* x) {
    return *reinterpret_cast<const Unaligned*>(x);
  }

  WindowAxis last_{};
  std::int64_t in_ = 0, out_ = 0;              ///< extents of the last axis
  std::int64_t plane_ = 0;                     ///< elements of a plane
  std::int64_t out_rows_ = 0;                  ///< rows of results in a plane
  std::int64_t inner_in_ = 0, inner_out_ = 0;  ///< rows for one index of the first axis
  std::int64_t window_rows_ = 0;               ///< rows under a window, at most
  bool in_lanes_ = false;                      ///< the second step
  std::int64_t read_ = 0;                      ///< elements that the first step reads of a row
  std::int64_t row_ = 0;                       ///< elements that the second step may read of a row
  std::int64_t phase_ = 0;                     ///< of them, every so many-th as the stride tells
  bool pads_behind_ = false;                   ///< windows reach beyond the row
  std::int64_t band_places_ = 0, band_rows_ = 0;  ///< of a band: places of the first axis; rows
  std::int64_t planes_together_ = 1;              ///< more than one where a band is a plane
  int threads_ = 0;
  Range* bands_ = nullptr;           ///< the elements that they read
  Window* windows_ = nullptr;        ///< by row of results
  std::int64_t* starts_ = nullptr;   ///< of rows in their plane
  std::int64_t* offsets_ = nullptr;  ///< of a window's elements in a row
  Acc* counts_ = nullptr;            ///< elements of a mean along the last axis, by place
  Span* spans_ = nullptr;            ///< what of a row is under a window, by place
  // One a thread.
  Acc* columns_ = nullptr;  ///< what columns gather, for some rows of results
  Acc* rows_ = nullptr;     ///< the same as windows read it
  Acc* copies_ = nullptr;   ///< what is read together, where x is of another type or ends with it
  Acc* found_ = nullptr;    ///< results, where y is of another type
  Acc* slabs_ = nullptr;
};

}  // namespace rondel::kernels::pooling
