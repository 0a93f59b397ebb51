#include "kernels/lanes.h"
#include "kernels/pool.h"
#include "kernels/pooling.h"
#include "kernels/share_out.h"
#include "kernels/threads.h"
#include "kernels/vectors.h"

#include <limits>

/// Pooling of vectors of windows: a plane is copied with its padding, which changes no result, so
/// that every element of a window is one offset for all places of a line. Each window meets its
/// elements in the same order as in the plain way, so the results are the same.
namespace rondel::kernels {
namespace {

using namespace pooling;

/// Vectors of windows that are worked on at once.
constexpr std::int64_t several = 4;
/// Element reads that take longer to share out among threads than to do.
constexpr std::int64_t least_shared = std::int64_t{1} << 20;

/// The greatest element. NaN, which wins, is asked for only in planes that have some.
template <class T> struct Greatest {
  using Acc = typename Pooling<T>::Acc;
  using Vector = typename Lanes<Acc>::Vector;
  template <std::int64_t lanes> using ByWindow = MaxByWindow<T, lanes>;

  static Acc padding() {
    using Limits = std::numeric_limits<Acc>;
    return Limits::has_infinity ? static_cast<Acc>(-Limits::infinity()) : Limits::lowest();
  }
  template <bool nans>
  [[gnu::always_inline]] static Vector add(const Vector& best, const Vector& v) {
    if constexpr (nans) return (v > best) | ((v != v) & (best == best)) ? v : best;
    else return v > best ? v : best;
  }
  [[gnu::always_inline]] static Vector first(const Vector& v) { return v; }
  static constexpr bool has_nans = !std::is_integral_v<Acc>, is_mean = false;
};

/// The sum, of which a mean is made.
template <class T> struct Sum {
  using Acc = typename Pooling<T>::Acc;
  using Vector = typename Lanes<Acc>::Vector;
  template <std::int64_t lanes> using ByWindow = MeanByWindow<T, lanes>;

  static Acc padding() { return Acc{}; }
  template <bool> [[gnu::always_inline]] static Vector add(const Vector& sum, const Vector& v) {
    return sum + v;
  }
  /// Sums begin with 0, which makes 0 of -0.
  [[gnu::always_inline]] static Vector first(const Vector& v) { return Vector{} + v; }
  static constexpr bool has_nans = false, is_mean = true;
};

/// count elements, `stride` apart, of which only as many are read.
template <class T>
[[gnu::always_inline]] inline typename Lanes<T>::Vector load_apart(const T* x, std::int64_t stride,
                                                                   std::int64_t count) {
  typename Lanes<T>::Vector v{};
  for (std::int64_t i = 0; i < std::min(count, Lanes<T>::count); ++i) v[i] = x[i * stride];
  return v;
}

/// Every second element.
template <class T> [[gnu::always_inline]] inline typename Lanes<T>::Vector load_second(const T* x) {
  constexpr std::int64_t n = Lanes<T>::count;
  typename Lanes<T>::Mask even{};
  for (std::int64_t i = 0; i < n; ++i) even[i] = static_cast<typename Lanes<T>::Integer>(2 * i);
  const typename Lanes<T>::Vector low = load(x), high = load(x + n);
  return __builtin_shuffle(low, high, even);
}

/// to[i] = from[i] for i < n, by whole vectors as far as `to_room` and `from_room` elements are
/// there: what is behind n is overwritten with anything. Adds to `odd` where an element is NaN.
template <class T, class Acc>
[[gnu::always_inline]] inline void copy_row(Acc* to, std::int64_t to_room, const T* from,
                                            std::int64_t from_room, std::int64_t n,
                                            typename Lanes<Acc>::Mask* odd) {
  std::int64_t i = 0;
  if constexpr (std::is_same_v<T, Acc>) {
    const std::int64_t whole = std::min(to_room, from_room) - Lanes<Acc>::count;
    for (; i < n && i <= whole; i += Lanes<Acc>::count) {
      const typename Lanes<Acc>::Vector v = load(from + i);
      if (odd != nullptr) *odd |= v != v;
      store(to + i, v);
    }
  }
  for (; i < n; ++i) {
    to[i] = static_cast<Acc>(from[i]);
    if (odd != nullptr) (*odd)[0] |= to[i] != to[i] ? 1 : 0;
  }
}

/// What a line of windows gathers: line[j] of the elements at x[j * stride + offsets[k]], k
/// ascending. Writes whole vectors.
template <class G, class Acc> struct Line {
  const Acc* x;
  const std::int64_t* offsets;
  std::int64_t window, stride, count;
  Acc* line;

  template <bool nans> [[gnu::always_inline]] void gather() const {
    if (stride == 1) each_vector<nans, 1>();
    else if (stride == 2) each_vector<nans, 2>();
    else each_vector<nans, 0>();
  }

 private:
  static constexpr std::int64_t lanes = Lanes<Acc>::count;
  using Vector = typename Lanes<Acc>::Vector;

  template <bool nans, int apart> [[gnu::always_inline]] void each_vector() const {
    std::int64_t j = 0;
    for (; apart > 0 && j + (several - 1) * lanes < count; j += several * lanes) {
      Vector found[several];
#pragma GCC unroll 4
      for (std::int64_t s = 0; s < several; ++s) found[s] = G::first(read<apart>(0, j + s * lanes));
      for (std::int64_t k = 1; k < window; ++k)
#pragma GCC unroll 4
        for (std::int64_t s = 0; s < several; ++s)
          found[s] = G::template add<nans>(found[s], read<apart>(k, j + s * lanes));
#pragma GCC unroll 4
      for (std::int64_t s = 0; s < several; ++s) store(line + j + s * lanes, found[s]);
    }
    for (; j < count; j += lanes) {
      Vector found = G::first(read<apart>(0, j));
      for (std::int64_t k = 1; k < window; ++k)
        found = G::template add<nans>(found, read<apart>(k, j));
      store(line + j, found);
    }
  }

  template <int apart> [[gnu::always_inline]] Vector read(std::int64_t k, std::int64_t j) const {
    const Acc* from = x + offsets[k] + j * stride;
    if constexpr (apart == 1) return load(from);
    else if constexpr (apart == 2) return load_second(from);
    else return load_apart(from, stride, count - j);
  }
};

/// `G`: Greatest or Sum.
template <class T, template <class> class G> struct Padded {
  using Acc = typename Pooling<T>::Acc;
  static constexpr std::int64_t lanes = Lanes<Acc>::count;
  static constexpr bool mean = G<T>::is_mean;

  void lay_out(Workspace& w, const PoolSpec& spec, std::span<const std::int64_t> in,
               std::span<const std::int64_t> out) {
    const std::size_t spatial = spec.window.kernel.size();
    if (spatial == 0 || product(out.subspan(2)) == 0) return;
    find_sizes(spec, in, out);
    steps = w.take<std::int64_t>(static_cast<std::int64_t>(spatial));
    offsets = w.take<std::int64_t>(window);
    planes = w.take<Acc>(threads * room);
    lines = w.take<Acc>(threads * line_room);
    counts = w.take<Acc>(mean ? product(out.subspan(2)) : 0);
  }

  void run(StopCheck& stop, const Pooling<T>& p, const PoolSpec& spec) {
    if (p.axes.empty() || p.where != nullptr) return by_window(stop, p, spec);
    prepare(stop, p, spec);
    share_out(stop, threads, p.planes, [&](StopCheck& own, std::int64_t plane, int thread) {
      one_plane(own, p, plane, planes + thread * room, lines + thread * line_room);
    });
    for (std::int64_t plane = 0; plane < p.planes && !every_place_reads && !mean; ++plane)
      clear_empty(stop, p, p.y + plane * p.out_size);
  }

 private:
  /// Where indices are asked for.
  static void by_window(StopCheck& stop, const Pooling<T>& p, const PoolSpec& spec) {
    constexpr std::int64_t planes_at_once = 8;
    std::int64_t plane = 0;
    for (; plane + planes_at_once <= p.planes; plane += planes_at_once)
      G<T>::template ByWindow<planes_at_once>::run(stop, p, spec, plane);
    for (; plane < p.planes; ++plane) G<T>::template ByWindow<1>::run(stop, p, spec, plane);
  }

  /// Elements of a padded plane, of a line of places, of a window.
  void find_sizes(const PoolSpec& spec, std::span<const std::int64_t> in,
                  std::span<const std::int64_t> out) {
    const std::size_t spatial = spec.window.kernel.size();
    bool every_one = true;
    plane = window = 1;
    for (std::size_t a = 0; a < spatial; ++a) {
      const WindowAxis axis = axis_of(spec.window, a, in[a + 2], spec.window.kernel[a]);
      window = checked_mul(window, axis.kernel);
      const std::int64_t extent = checked_add(checked_mul(out[a + 2] - 1, axis.stride),
                                              axis.reach());
      plane = checked_mul(plane, extent);
      every_one = every_one && axis.stride == 1;
      row_step = extent;
    }
    // Rows of windows of stride 1 make one line, with places between them that are none.
    rows = spatial == 1 ? 1 : product(out.subspan(2, spatial - 1));
    one_line = every_one && spatial <= 2;
    line = one_line ? (rows - 1) * row_step + out.back() : out.back();
    line_room = line + several * lanes;
    // Vectors read behind the last place's elements.
    room = checked_add(plane, 2 * several * lanes);
    threads = product(out) * window < least_shared ? 1 : thread_count();
  }

  void prepare(StopCheck& stop, const Pooling<T>& p, const PoolSpec& spec) {
    std::int64_t step = 1;
    for (std::size_t a = p.axes.size(); a-- > 0;) {
      const Axis& axis = p.axes[a];
      steps[a] = step;
      step *= (axis.out - 1) * axis.window.stride + axis.window.reach();
    }
    std::int64_t* to = offsets;
    add_offsets(p, 0, 0, to);
    every_place_reads = std::ranges::all_of(p.axes, reads_at_every_place);
    if constexpr (mean) {
      Acc* count = counts;
      each_position(stop, p.axes, p.spans, 0, [&] {
        *count++ = static_cast<Acc>(counted({p.spans, p.axes.size()}, spec.count_include_pad));
      });
    }
  }

  /// No window lies in padding alone.
  static bool reads_at_every_place(const Axis& axis) {
    const WindowAxis& w = axis.window;
    if (w.dilation == 1)
      return axis.in > 0 && w.begin < w.kernel && (axis.out - 1) * w.stride - w.begin < axis.in;
    for (std::int64_t o = 0; o < axis.out; ++o)
      if (axis.span_at(o).count == 0) return false;
    return true;
  }

  void add_offsets(const Pooling<T>& p, std::size_t a, std::int64_t offset,
                   std::int64_t*& to) const {
    if (a == p.axes.size()) {
      *to++ = offset;
      return;
    }
    const WindowAxis& window_axis = p.axes[a].window;
    for (std::int64_t k = 0; k < window_axis.kernel; ++k)
      add_offsets(p, a + 1, offset + k * window_axis.dilation * steps[a], to);
  }

  void one_plane(StopCheck& stop, const Pooling<T>& p, std::int64_t number, Acc* padded,
                 Acc* found) const {
    const bool nans = pad(stop, p, 0, p.x + number * p.in_size, padded);
    T* y = p.y + number * p.out_size;
    const Axis& row = p.axes.back();
    if (one_line) {
      gather(stop, nans, padded, 1, found);
      return finish(found, y, rows, row.out);
    }
    std::int64_t r = 0;
    each_row(p, 0, 0, [&](std::int64_t offset) {
      gather(stop, nans, padded + offset, row.window.stride, found);
      finish(found, y + r * row.out, 1, row.out, r);
      ++r;
    });
  }

  /// f(where the windows of a row begin) for each row of places.
  template <class F>
  void each_row(const Pooling<T>& p, std::size_t a, std::int64_t offset, const F& f) const {
    if (a + 1 == p.axes.size()) return f(offset);
    const Axis& axis = p.axes[a];
    for (std::int64_t o = 0; o < axis.out; ++o)
      each_row(p, a + 1, offset + o * axis.window.stride * steps[a], f);
  }

  void gather(StopCheck& stop, bool nans, const Acc* x, std::int64_t stride, Acc* found) const {
    // Some elements of the windows at a time would have to begin anew: some columns at a time.
    constexpr std::int64_t at_once = several * lanes * 8;
    for (std::int64_t j = 0; j < line; j += at_once) {
      const Line<G<Acc>, Acc> part{
          x + j * stride, offsets, window, stride, std::min(at_once, line - j), found + j};
      with_vectors([&] {
        if (nans) part.template gather<true>();
        else part.template gather<false>();
      });
      stop.add_work(window * 16 + 8);
    }
  }

  /// `count` rows of y, of which the first is number `first`.
  void finish(const Acc* from, T* y, std::int64_t count, std::int64_t columns,
              std::int64_t first = 0) const {
    with_vectors([&] {
      for (std::int64_t r = 0; r < count; ++r) {
        const Acc* row = from + r * row_step;
        T* to = y + r * columns;
        if constexpr (mean) {
          const Acc* divisors = counts + (first + r) * columns;
          for (std::int64_t j = 0; j < columns; ++j) to[j] = static_cast<T>(row[j] / divisors[j]);
        } else if constexpr (std::is_same_v<T, Acc>) {
          copy_row(to, (count - r) * columns, row, line_room - r * row_step, columns, nullptr);
        } else {
          for (std::int64_t j = 0; j < columns; ++j) to[j] = static_cast<T>(row[j]);
        }
      }
    });
  }

  /// Windows that lie in padding alone give 0.
  static void clear_empty(StopCheck& stop, const Pooling<T>& p, T* y) {
    each_position(stop, p.axes, p.spans, 0, [&] {
      if (counted({p.spans, p.axes.size()}, false) == 0) *y = T{};
      ++y;
    });
  }

  /// A plane with its padding, from axis `a` on. x: null where it is padding alone. Whether there
  /// may be a NaN.
  bool pad(StopCheck& stop, const Pooling<T>& p, std::size_t a, const T* x, Acc* to) const {
    if (a + 2 >= p.axes.size()) return pad_rows(stop, p, a, x, to);
    const Extent along(p.axes[a]);
    bool nans = false;
    for (std::int64_t i = 0; i < along.padded; ++i) {
      const T* there = x != nullptr && i >= along.from && i < along.to
                           ? x + (i - along.from) * p.axes[a].step
                           : nullptr;
      nans = pad(stop, p, a + 1, there, to + i * steps[a]) || nans;
    }
    return nans;
  }

  /// An axis with its padding: what it reads stands at [from, to).
  struct Extent {
    explicit Extent(const Axis& axis)
        : padded((axis.out - 1) * axis.window.stride + axis.window.reach()),
          from(std::min(axis.window.begin, padded)),
          to(std::clamp(axis.window.begin + axis.in, from, padded)) {}
    std::int64_t padded, from, to;
  };

  /// The last axis, or the last two.
  bool pad_rows(StopCheck& stop, const Pooling<T>& p, std::size_t a, const T* x, Acc* to) const {
    const Axis& row = p.axes.back();
    const Extent along(row), rows_of = a + 1 < p.axes.size() ? Extent(p.axes[a]) : Extent(one);
    typename Lanes<Acc>::Mask odd{};
    with_vectors([&] {
      const T* const end = p.x + p.planes * p.in_size;
      for (std::int64_t i = 0; i < rows_of.padded; ++i, to += along.padded) {
        const bool there = x != nullptr && i >= rows_of.from && i < rows_of.to;
        const std::int64_t from = there ? along.from : along.padded;
        for (std::int64_t j = 0; j < from; ++j) to[j] = G<T>::padding();
        if (!there) continue;
        const T* in = x + (i - rows_of.from) * row.in;
        copy_row(to + from, vectors_behind, in, end - in, along.to - from,
                 G<T>::has_nans ? &odd : nullptr);
        for (std::int64_t j = along.to; j < along.padded; ++j) to[j] = G<T>::padding();
      }
    });
    stop.add_work(rows_of.padded * (along.padded / 16 + 4));
    if constexpr (G<T>::has_nans)
      for (std::int64_t l = 0; l < lanes; ++l)
        if (odd[l] != 0) return true;
    return false;
  }

  static constexpr Axis one{{}, 1, 1, 1, 1};
  /// Elements behind a plane that may be overwritten.
  static constexpr std::int64_t vectors_behind = std::int64_t{1} << 40;
  int threads = 1;
  bool one_line = false;           ///< rows of places are one line
  bool every_place_reads = false;  ///< no window lies in padding alone
  std::int64_t plane = 0, window = 0, rows = 0, line = 0, row_step = 0;  ///< elements
  std::int64_t room = 0, line_room = 0;
  std::int64_t *steps = nullptr, *offsets = nullptr;  ///< of a padded plane, by axis; by element
  Acc *planes = nullptr, *lines = nullptr;            ///< one a thread
  Acc* counts = nullptr;                              ///< by place
};

template <class T> using PaddedMax = Padded<T, Greatest>;
template <class T> using PaddedMean = Padded<T, Sum>;

}  // namespace

std::shared_ptr<const SizedKernel> fast_max_pool(const PoolSpec& spec, DType t) {
  return pool_of_numbers<PaddedMax>(spec, t, 2);
}

std::shared_ptr<const SizedKernel> fast_average_pool(const PoolSpec& spec, DType t) {
  return pool_of_floats<PaddedMean>(spec, t, 1);
}

}  // namespace rondel::kernels
