#pragma once
#include "kernels/pool_kinds.h"
#include "kernels/pooling.h"
#include "kernels/share_out.h"
#include "kernels/threads.h"
#include "kernels/vectors.h"

#include <utility>

/// Pooling where neighbours along the last axis stand in a vector. Not for others than fast
/// pooling.
namespace rondel::kernels::pooling {

template <class From, class To> void convert(const From* from, std::int64_t n, To* to) {
  with_vectors([&] {
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]);
  });
}

/// No window lies beside the elements of this axis.
inline bool reads_at_every_place(const WindowAxis& w, std::int64_t in, std::int64_t out) {
  const Axis axis{w, in, out, 1, 1};
  if (w.dilation == 1) return in > 0 && w.begin < w.kernel && (out - 1) * w.stride - w.begin < in;
  for (std::int64_t o = 0; o < out; ++o)
    if (axis.span_at(o).count == 0) return false;
  return true;
}

inline std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Rows along the last axis that a window reads, at most.
inline std::int64_t rows_under_window(const PoolSpec& spec, std::span<const std::int64_t> in) {
  std::int64_t rows = 1;
  for (std::size_t a = 0; a + 1 < spec.window.kernel.size(); ++a)
    rows *= std::min(spec.window.kernel[a], in[a + 2]);
  return rows;
}

/// One where sharing the work out would take longer than doing it.
inline int threads_for(const PoolSpec& spec, std::span<const std::int64_t> out) {
  constexpr std::int64_t least_shared = std::int64_t{1} << 20;  // element reads
  std::int64_t window = 1;
  for (const std::int64_t extent : spec.window.kernel) window = checked_mul(window, extent);
  return product(out) < least_shared / window ? 1 : thread_count();
}

/// By place of an axis: of how many elements along it a mean is.
template <class Acc> void count_along(const Axis& axis, bool with_padding, Acc* to) {
  for (std::int64_t o = 0; o < axis.out; ++o) {
    const Span span = axis.span_at(o);
    to[o] = static_cast<Acc>(counted({&span, 1}, with_padding));
  }
}

/// A row of results is made in two steps: what the columns (of all axes but the last) of its
/// windows gather, then what the windows gather of that. A plane is cut into bands along its first
/// axis, so that what a band reads stays in a near cache.
template <class T, class Kind> class AlongRows {
  using Acc = typename Kind::Acc;
  using Extents = std::span<const std::int64_t>;
  using Vector = typename Half<Acc>::Vector;
  using Unaligned = typename Half<Acc>::Unaligned;
  static constexpr std::int64_t count = Half<Acc>::count;
  static constexpr bool widens = !std::is_same_v<T, Acc>;
  /// Elements that a band reads.
  static constexpr std::int64_t cached = 8192;
  /// Rows of results that are made together: what was just written would have to be waited for.
  static constexpr std::int64_t together = 8;
  /// Element reads between two looks at the stop flag.
  static constexpr std::int64_t most_reads = std::int64_t{1} << 20;

 public:
  void lay_out(Workspace& w, const PoolSpec& spec, Extents in, Extents out) {
    find_sizes(spec, in, out);
    if (!fits()) return;
    bands_ = w.take<Range>(divide_up(out_rows_ / inner_out_, band_places_));
    windows_ = w.take<Window>(out_rows_);
    starts_ = w.take<std::int64_t>(out_rows_ * window_rows_);
    offsets_ = w.take<std::int64_t>(last_.kernel);
    counts_ = w.take<Acc>(Kind::is_mean ? out_ : 0);
    columns_ = w.take<Acc>(last_.stride == 2 ? threads_ * together * in_ : 0);
    rows_ = w.take<Acc>(threads_ * together * row_);
    wide_ = w.take<Acc>(widens ? threads_ * band_rows_ * in_ : 0);
    found_ = w.take<Acc>(widens ? threads_ * band_places_ * inner_out_ * out_ : 0);
  }

  /// Whether rows are long enough and windows lie close enough.
  bool fits() const { return band_rows_ > 0; }

  void run(StopCheck& stop, const Pooling<T>& p, const PoolSpec& spec) const {
    prepare(stop, p, spec.count_include_pad);
    const std::int64_t bands = divide_up(out_rows_ / inner_out_, band_places_);
    share_out(stop, threads_, p.planes * bands, [&](StopCheck& own, std::int64_t unit, int thread) {
      pool_band(own, p, unit / bands, unit % bands, thread);
    });
  }

 private:
  /// A row of windows.
  struct Window {
    std::int64_t first, count;  ///< in `starts_`: the rows that it reads
    Acc elements;               ///< of these axes, that a mean is of
  };

  struct Range {
    std::int64_t begin, end;
  };
  /// Elements of a plane that are read together: some rows; and where they are pooled.
  struct Band : Range {
    const Acc* x = nullptr;  ///< the first of them
    Acc* columns = nullptr;  ///< what columns gather, where windows do not read it so
    Acc* rows = nullptr;     ///< what windows read
    Acc* y = nullptr;
  };

  void find_sizes(const PoolSpec& spec, Extents in, Extents out) {
    const std::size_t last = spec.window.kernel.size() - 1;
    last_ = axis_of(spec.window, last, in.back(), spec.window.kernel[last]);
    in_ = in.back();
    out_ = out.back();
    if (out_ < count || in_ < last_.stride * count || last_.stride > 2 || last_.begin < 0) return;
    if (!reads_at_every_place(last_, in_, out_)) return;
    phase_ = std::max(out_ + (last_.reach() - 1) / last_.stride,
                      divide_up(last_.begin + in_, last_.stride));
    row_ = phase_ * last_.stride;
    out_rows_ = product(out.subspan(2, last));
    inner_out_ = last == 0 ? 1 : product(out.subspan(3, last - 1));
    inner_in_ = last == 0 ? 1 : product(in.subspan(3, last - 1));
    window_rows_ = rows_under_window(spec, in);
    if (window_rows_ > row_) return;  // the table of them would be larger than the plane
    threads_ = threads_for(spec, out);
    band_places_ = band_rows_ = 1;
    if (last > 0) find_band(axis_of(spec.window, 0, in[2], spec.window.kernel[0]), in[2], out);
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

  /// What is the same for all planes.
  void prepare(StopCheck& stop, const Pooling<T>& p, bool with_padding) const {
    const std::span<const Axis> outer = p.axes.first(p.axes.size() - 1);
    std::int64_t row = 0, next = 0;
    each_position(stop, outer, p.spans, 0, [&] {
      Window& w = windows_[row++];
      w.first = next;
      under(outer, p.spans, 0, 0, 0,
            [&](std::int64_t offset, std::int64_t) { starts_[next++] = offset; });
      w.count = next - w.first;
      w.elements = static_cast<Acc>(Kind::is_mean ? counted({p.spans, outer.size()}, with_padding)
                                                  : 1);
      stop.add_work(w.count * 16);
    });
    for (std::int64_t b = 0; b < divide_up(out_rows_ / inner_out_, band_places_); ++b)
      bands_[b] = rows_under(results_of(b));
    for (std::int64_t k = 0; k < last_.kernel; ++k) {
      const std::int64_t element = k * last_.dilation;
      offsets_[k] = element % last_.stride * phase_ + element / last_.stride;
    }
    if constexpr (Kind::is_mean) count_along(p.axes.back(), with_padding, counts_);
    std::fill_n(rows_, threads_ * together * row_, Kind::padding());
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
      rows.begin = std::min(rows.begin, starts_[w.first]);
      rows.end = std::max(rows.end, starts_[w.first + w.count - 1] + in_);
    }
    return {std::min(rows.begin, rows.end), rows.end};
  }

  void pool_band(StopCheck& stop, const Pooling<T>& p, std::int64_t plane, std::int64_t number,
                 int thread) const {
    const Range results = results_of(number);
    Band band{bands_[number]};
    const std::int64_t from = results.begin, end = results.end;
    const std::int64_t elements = band.end - band.begin;
    const T* const x = p.x + plane * p.in_size + band.begin;
    band.columns = columns_ + (last_.stride == 2 ? thread * together * in_ : 0);
    band.rows = rows_ + thread * together * row_;
    if constexpr (widens) {
      Acc* const wide = wide_ + thread * band_rows_ * in_;
      convert(x, elements, wide);
      band.x = wide;
      band.y = found_ + thread * band_places_ * inner_out_ * out_;
    } else {
      band.x = x;
      band.y = p.y + plane * p.out_size + from * out_;
    }
    stop.add_work(elements);
    for (std::int64_t o = from; o < end; o += together) {
      const std::int64_t rows = std::min(together, end - o);
      Acc* const y = band.y + (o - from) * out_;
      if (!pool_rows<Kind>(stop, band, o, rows, y))
        pool_rows<typename Kind::WithNans>(stop, band, o, rows, y);
    }
    if constexpr (widens)
      convert(band.y, (end - from) * out_, p.y + plane * p.out_size + from * out_);
  }

  /// Some rows of results, from row o on. False: there may be a NaN, which K does not look for.
  template <class K>
  bool pool_rows(StopCheck& stop, const Band& band, std::int64_t o, std::int64_t rows,
                 Acc* y) const {
    Acc* const columns = last_.stride == 1 ? band.rows + last_.begin : band.columns;
    const std::int64_t step = last_.stride == 1 ? row_ : in_;
    Vector sum{};
    in_parts(stop, in_, rows * window_rows_, [&](std::int64_t begin, std::int64_t until) {
      for (std::int64_t r = 0; r < rows; ++r)
        pool_columns<K>(band, windows_[o + r], begin, until, columns + r * step, sum);
    });
    if constexpr (K::asks_for_nans)
      for (int l = 0; l < count; ++l)
        if (sum[l] != sum[l]) return false;
    if (last_.stride == 2)
      in_parts(stop, in_, rows, [&](std::int64_t begin, std::int64_t until) {
        for (std::int64_t r = 0; r < rows; ++r)
          split(columns + r * step, begin, until, band.rows + r * row_);
      });
    in_parts(stop, out_, rows * last_.kernel, [&](std::int64_t begin, std::int64_t until) {
      for (std::int64_t r = 0; r < rows; ++r)
        pool_windows<K>(band.rows + r * row_, windows_[o + r], begin, until, y + r * out_);
    });
    return true;
  }

  /// Calls act(begin, until) for parts of n places, at each of which so many elements are read.
  template <class F>
  static void in_parts(StopCheck& stop, std::int64_t n, std::int64_t reads, const F& act) {
    const std::int64_t most = (most_reads / (reads + 1) + 2 * count) / (2 * count) * (2 * count);
    for (std::int64_t begin = 0; begin < n; begin += most) {
      const std::int64_t until = std::min(begin + most, n);
      with_vectors([&] { act(begin, until); });
      stop.add_work((until - begin) * (reads + 1) / count);
    }
  }

  /// What columns [begin, until) gather. Where NaNs are asked for, the elements are added to `sum`,
  /// which then is a NaN (or where there are two infinities).
  template <class K>
  [[gnu::always_inline]] void pool_columns(const Band& band, const Window& w, std::int64_t begin,
                                           std::int64_t until, Acc* to, Vector& sum) const {
    const Acc* const x = band.x - band.begin;
    each_vector<K>(
        begin, until, in_,
        [&](auto& vectors, const std::int64_t* at) {
          for (std::int64_t r = w.first; r < w.first + w.count; ++r) {
            const Acc* const from = x + starts_[r];
            vectors.add([&](int i) { return load(from + at[i]); });
          }
          if constexpr (K::asks_for_nans) sum += vectors.sum();
          vectors.end_column();
        },
        [&](const Vector& v, std::int64_t at) { store(v, to + at); });
  }

  /// Every second element, then the others, as windows with a stride of two read them: into a row
  /// that has its padding already.
  [[gnu::always_inline]] void split(const Acc* x, std::int64_t from, std::int64_t until,
                                    Acc* row) const {
    const std::int64_t begin = last_.begin;
    Acc* const first = row + begin % 2 * phase_ + begin / 2;
    Acc* const second = row + (begin + 1) % 2 * phase_ + (begin + 1) / 2;
    for (std::int64_t i = from / 2; i < until / 2; i += count) {
      const std::int64_t at = std::min(i, in_ / 2 - count);
      const Vector low = load(x + 2 * at), high = load(x + 2 * at + count);
      store(every_second<0>(low, high, std::make_index_sequence<count>()), first + at);
      store(every_second<1>(low, high, std::make_index_sequence<count>()), second + at);
    }
    if (in_ % 2 == 1) first[in_ / 2] = x[in_ - 1];
  }
  template <int first, std::size_t... i>
  [[gnu::always_inline]] static Vector every_second(const Vector& low, const Vector& high,
                                                    std::index_sequence<i...>) {
    return __builtin_shufflevector(low, high, (2 * i + first)...);
  }

  /// Results [begin, until) of a row.
  template <class K>
  [[gnu::always_inline]] void pool_windows(const Acc* row, const Window& w, std::int64_t begin,
                                           std::int64_t until, Acc* y) const {
    if (w.count == 0 && !Kind::is_mean) {
      std::fill(y + begin, y + until, Acc{});
      return;
    }
    each_vector<K>(
        begin, until, out_,
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

  /// Vectors of places that gather in step, so that none waits for itself.
  template <class K, int several> struct Vectors {
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
  std::int64_t in_ = 0, out_ = 0;  ///< extents of the last axis
  std::int64_t row_ = 0;           ///< elements that are read of a row, padding included
  std::int64_t phase_ = 0;         ///< of them, every so many-th as the stride tells
  std::int64_t out_rows_ = 0;      ///< rows of results in a plane
  std::int64_t inner_in_ = 0, inner_out_ = 0;     ///< rows for one index of the first axis
  std::int64_t window_rows_ = 0;                  ///< rows under a window, at most
  std::int64_t band_places_ = 0, band_rows_ = 0;  ///< of a band: places of the first axis; rows
  int threads_ = 1;
  Range* bands_ = nullptr;           ///< the elements that they read
  Window* windows_ = nullptr;        ///< by row of results
  std::int64_t* starts_ = nullptr;   ///< of rows in their plane
  std::int64_t* offsets_ = nullptr;  ///< of a window's elements in a row
  Acc* counts_ = nullptr;            ///< elements of a mean along the last axis, by place
  // One a thread.
  Acc* wide_ = nullptr;     ///< the rows of a band, where x is of another type
  Acc* columns_ = nullptr;  ///< what columns gather, for some rows of results
  Acc* rows_ = nullptr;     ///< the same as windows read it
  Acc* found_ = nullptr;    ///< results, where y is of another type
};

}  // namespace rondel::kernels::pooling
