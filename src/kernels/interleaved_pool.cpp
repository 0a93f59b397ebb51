#include "kernels/interleave.h"
#include "kernels/lane_windows.h"
#include "kernels/pool.h"
#include "kernels/pooling.h"
#include "kernels/row_pool.h"

/// Pooling of many planes at once: the same element of each stands in a lane of a vector, so that
/// windows of any stride and dilation are as fast as others, and small planes as large ones. For
/// rows that are too short for vectors of their own, strides above two, and indices. Each window
/// meets its elements in the same order as in the plain way, so the results are the same.
///
/// What stands in a lane is a unit: a plane, or a band of one, some places of the first axis, where
/// planes are few or do not fit into the cache.
namespace rondel::kernels {
namespace {

using namespace pooling;
using Extents = std::span<const std::int64_t>;

/// Elements of a unit that fit into the cache, in all lanes.
constexpr std::int64_t cached = 2048;
/// Elements of a unit that would take too much memory.
constexpr std::int64_t too_many = std::int64_t{1} << 18;

template <class Acc> bool has_nan(const Acc* x, std::int64_t n) {
  bool nans = false;
  with_vectors([&] {
    typename Half<Acc>::Number found = 0;
    for (std::int64_t i = 0; i < n; ++i) found |= x[i] != x[i] ? 1 : 0;
    nans = found != 0;
  });
  return nans;
}

/// Elements that are turned between two looks at the stop flag, in all lanes; they fit into the
/// nearest cache.
constexpr std::int64_t turned_at_once = 256;

/// The first n elements of all rows. Whether there is a NaN, if that is asked.
template <bool ask, class Acc>
bool interleave_all(StopCheck& stop, const Acc* const* rows, std::int64_t n, Acc* to) {
  bool nans = false;
  for (std::int64_t i = 0; i < n; i += turned_at_once) {
    const std::int64_t end = std::min(i + turned_at_once, n);
    with_vectors([&] { interleave(rows, i, end, n, to); });
    if constexpr (ask)
      nans = has_nan(to + i * Lanes<Acc>::count, (end - i) * Lanes<Acc>::count) || nans;
    stop.add_work(turned_at_once * 4);
  }
  return nans;
}

template <class Acc>
void deinterleave_all(StopCheck& stop, const Acc* from, std::int64_t n, Acc* const* rows) {
  for (std::int64_t i = 0; i < n; i += turned_at_once) {
    with_vectors([&] { deinterleave(from, i, std::min(i + turned_at_once, n), n, rows); });
    stop.add_work(turned_at_once * 4);
  }
}

template <class Acc> void divide(Acc* x, const Acc* by, std::int64_t n) {
  with_vectors([&] {
    for (std::int64_t i = 0; i < n; ++i) x[i] /= by[i];
  });
}
/// The same in all lanes.
template <class Acc> void divide_lanes(Acc* x, const Acc* by, std::int64_t n) {
  with_vectors([&] {
    auto* half = reinterpret_cast<typename Half<Acc>::Unaligned*>(x);
    for (std::int64_t i = 0; i < n; ++i, half += 2) {
      half[0] = half[0] / by[i];
      half[1] = half[1] / by[i];
    }
  });
}

/// to[i] = first + numbers[i], but -1 where that is negative.
template <class Number>
void add_to_numbers(const Number* numbers, std::int64_t first, std::int64_t n, std::int64_t* to) {
  with_vectors([&] {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t number = numbers[i];
      to[i] = number < 0 ? -1 : first + number;
    }
  });
}

/// How planes are cut into units.
struct Bands {
  std::int64_t count = 1;  ///< of a plane
  std::int64_t places;     ///< of the first axis in one; the last band may have less
  std::int64_t rows;       ///< indices of the first axis that are read for them

  static Bands one(std::int64_t in, std::int64_t out) { return {1, out, in}; }
  /// At least `least` bands where there are so many places. An index of the first axis is `line`
  /// elements.
  static Bands cut(const WindowAxis& w, std::int64_t in, std::int64_t out, std::int64_t line,
                   std::int64_t least) {
    // Padding stands in bands as elements do: where there is nothing else, it would be the result.
    if (w.reach() > in || !reads_at_every_place(w, in, out)) return one(in, out);
    const std::int64_t room = cached / std::max<std::int64_t>(line, 1) - w.reach();
    const std::int64_t fitting = room < 0 ? 1 : room / w.stride + 1;
    const std::int64_t wanted = std::min(out, std::max(least, divide_up(out, fitting)));
    if (wanted <= 1) return one(in, out);
    const std::int64_t places = divide_up(out, wanted);
    return {divide_up(out, places), places, (places - 1) * w.stride + w.reach()};
  }
};

/// Pools elements of T by `Kind`.
template <class T, class Kind> class InLanes {
  using Acc = typename Kind::Acc;
  using Number = typename Lanes<Acc>::Integer;
  static constexpr std::int64_t lanes = Lanes<Acc>::count;
  static constexpr bool widens = !std::is_same_v<T, Acc>;

 public:
  void lay_out(Workspace& w, const PoolSpec& spec, Extents in, Extents out) {
    find_sizes(spec, in, out);
    if (!fits()) return;
    const std::size_t spatial = spec.window.kernel.size();
    axes_ = {w.take<Axis>(static_cast<std::int64_t>(spatial)), spatial};
    last_ = w.take<Span>(out.back());
    counts_ = w.take<Acc>(Kind::is_mean ? line_places_ * out[2] : 0);
    last_counts_ = w.take<Acc>(Kind::is_mean ? out.back() : 0);
    spans_ = w.take<Span>(threads_ * static_cast<std::int64_t>(spatial));
    starts_ = w.take<std::int64_t>(threads_ * window_rows_);
    slabs_ = w.take<Acc>(threads_ * slab_ * lanes);
    found_ = w.take<Acc>(threads_ * places_ * lanes);
    where_ = w.take<Number>(Kind::says_where ? threads_ * places_ * lanes : 0);
    rooms_ = w.take<Acc>(threads_ * lanes * room_);
  }

  /// Whether there is something to pool, in as many lanes as there are.
  bool fits() const { return places_ > 0 && std::max(slab_, places_) < too_many; }

  void run(StopCheck& stop, const Pooling<T>& p, const PoolSpec& spec) const {
    prepare(stop, p, spec);
    share_out(stop, threads_, divide_up(p.planes * bands_.count, lanes),
              [&](StopCheck& own, std::int64_t group, int thread) {
                pool_group(own, p, group * lanes, thread);
              });
  }

 private:
  void find_sizes(const PoolSpec& spec, Extents in, Extents out) {
    const WindowAxis first = axis_of(spec.window, 0, in[2], spec.window.kernel[0]);
    const std::int64_t planes = out[0] * out[1], line = product(in.subspan(3));
    bands_ = Kind::says_where ? Bands::one(in[2], out[2])
                              : Bands::cut(first, in[2], out[2], line, lanes / planes);
    line_places_ = product(out.subspan(3));
    slab_ = bands_.rows * line;
    places_ = bands_.places * line_places_;
    room_ = std::max(slab_, places_);
    window_rows_ = rows_under_window(spec, in);
    threads_ = threads_for(spec, out);
  }

  /// The axes of a unit, and what is the same for all units.
  void prepare(StopCheck& stop, const Pooling<T>& p, const PoolSpec& spec) const {
    std::ranges::copy(p.axes, axes_.begin());
    for (Axis& axis : axes_) axis.index_step = axis.step;
    if (bands_.count > 1) {
      Axis& first = axes_[0];
      first.in = bands_.rows;
      first.out = bands_.places;
      first.window.begin = first.window.end = 0;
    }
    for (std::int64_t o = 0; o < axes_.back().out; ++o) last_[o] = axes_.back().span_at(o);
    stop.add_work(axes_.back().out * 16);
    if constexpr (Kind::is_mean) count(stop, p, spec.count_include_pad);
  }

  /// How many elements each mean is of.
  void count(StopCheck& stop, const Pooling<T>& p, bool with_padding) const {
    const Axis& last = p.axes.back();
    count_along(last, with_padding, last_counts_);
    Acc* to = counts_;
    const auto outer = p.axes.first(p.axes.size() - 1);
    each_position(stop, outer, p.spans, 0, [&] {
      const auto rows = static_cast<Acc>(counted({p.spans, outer.size()}, with_padding));
      for (std::int64_t o = 0; o < last.out; ++o) *to++ = rows * last_counts_[o];
      stop.add_work(last.out);
    });
  }

  /// What stands in one lane.
  struct Unit {
    std::int64_t plane, place;  ///< the first place of the first axis
    std::int64_t places;        ///< in all
  };
  /// Units that are planes, from number `first` on: where they are read and written.
  static void find_planes(const Pooling<T>& p, std::int64_t first, std::int64_t used,
                          const Acc** in, Acc** out) {
    if constexpr (!widens)
      for (std::int64_t l = 0; l < used; ++l) {
        in[l] = p.x + (first + l) * p.in_size;
        out[l] = p.y + (first + l) * p.out_size;
      }
  }
  /// Units from number `first` on, one a lane.
  void find_units(const Pooling<T>& p, std::int64_t first, std::int64_t used, Unit* units) const {
    const std::int64_t out = p.axes[0].out;
    std::int64_t plane = first / bands_.count, place = first % bands_.count * bands_.places;
    for (std::int64_t l = 0; l < used; ++l) {
      units[l] = {plane, place, std::min(bands_.places, out - place) * line_places_};
      place += bands_.places;
      if (place < out) continue;
      place = 0;
      ++plane;
    }
  }

  void pool_group(StopCheck& stop, const Pooling<T>& p, std::int64_t first, int thread) const {
    Acc* const rooms = rooms_ + thread * lanes * room_;
    const std::int64_t used = std::min(lanes, p.planes * bands_.count - first);
    Unit units[lanes];
    const Acc* in[lanes];
    Acc* out[lanes];
    const bool in_place = !widens && bands_.count == 1;
    if (in_place) {
      find_planes(p, first, used, in, out);
    } else {
      find_units(p, first, used, units);
      for (std::int64_t l = 0; l < used; ++l) {
        in[l] = elements(stop, p, units[l], rooms + l * room_);
        out[l] = results(p, units[l], rooms + l * room_);
      }
    }
    for (std::int64_t l = used; l < lanes; ++l) {
      in[l] = in[0];
      out[l] = rooms + l * room_;
    }
    pool_lanes(stop, in, out, thread);
    if (!in_place)
      for (std::int64_t l = 0; l < used; ++l) finish(stop, p, units[l], out[l]);
    if constexpr (Kind::says_where) {
      Number* numbers[lanes];
      for (std::int64_t l = 0; l < lanes; ++l)
        numbers[l] = reinterpret_cast<Number*>(rooms + l * room_);
      deinterleave_all(stop, where_ + thread * places_ * lanes, places_, numbers);
      for (std::int64_t l = 0; l < used; ++l) finish_where(stop, p, first + l, numbers[l]);
    }
  }

  void pool_lanes(StopCheck& stop, const Acc* const* in, Acc* const* out, int thread) const {
    Acc* const slab = slabs_ + thread * slab_ * lanes;
    Acc* const found = found_ + thread * places_ * lanes;
    Number* const where = where_ + (Kind::says_where ? thread * places_ * lanes : 0);
    const bool nans = interleave_all<Kind::asks_for_nans>(stop, in, slab_, slab);
    pool_slab(stop, nans, slab, found, where, thread);
    if constexpr (Kind::is_mean)
      if (bands_.count == 1) divide_lanes(found, counts_, places_);
    deinterleave_all(stop, found, places_, out);
  }

  /// What a unit reads: where it stands, or a copy with the padding before and behind it.
  const Acc* elements(StopCheck& stop, const Pooling<T>& p, const Unit& u, Acc* room) const {
    const Axis& axis = p.axes[0];
    const std::int64_t begin = bands_.count == 1 ? 0
                                                 : u.place * axis.window.stride - axis.window.begin;
    const std::int64_t from = std::max<std::int64_t>(begin, 0);
    const std::int64_t end = std::min(begin + bands_.rows, axis.in);
    const T* const x = p.x + u.plane * p.in_size;
    if constexpr (!widens)
      if (from == begin && end == begin + bands_.rows) return x + begin * axis.step;
    Acc* const to = std::fill_n(room, (from - begin) * axis.step, Kind::padding());
    const std::int64_t count = (end - from) * axis.step;
    convert(x + from * axis.step, count, to);
    std::fill(to + count, room + slab_, Kind::padding());
    stop.add_work(slab_);
    return room;
  }

  static T* results(const Pooling<T>& p, const Unit& u, std::int64_t line_places) {
    return p.y + u.plane * p.out_size + u.place * line_places;
  }
  /// Where a unit's results are made: in y, or in `room` where they are not all of y.
  Acc* results(const Pooling<T>& p, const Unit& u, Acc* room) const {
    if constexpr (!widens)
      if (u.places == places_) return results(p, u, line_places_);
    return room;
  }

  /// y of the results.
  void finish(StopCheck& stop, const Pooling<T>& p, const Unit& u, Acc* found) const {
    T* const y = results(p, u, line_places_);
    if constexpr (Kind::is_mean)
      if (bands_.count > 1) divide(found, counts_ + u.place * line_places_, u.places);
    if (static_cast<const void*>(found) != y) convert(found, u.places, y);
    stop.add_work(u.places);
  }

  /// Indices of the elements' numbers in their plane.
  void finish_where(StopCheck& stop, const Pooling<T>& p, std::int64_t plane,
                    const Number* numbers) const {
    std::int64_t* const where = p.where + plane * p.out_size;
    add_to_numbers(numbers, plane * p.in_size, p.out_size, where);
    if (p.column_major)
      for (std::int64_t i = 0; i < p.out_size; ++i)
        if (numbers[i] >= 0) where[i] = plane * p.in_size + column_major(p, numbers[i]);
    stop.add_work(p.out_size * (p.column_major ? 16 : 1));
  }
  static std::int64_t column_major(const Pooling<T>& p, std::int64_t number) {
    std::int64_t index = 0;
    for (const Axis& axis : p.axes) index += number / axis.step % axis.in * axis.index_step;
    return index;
  }

  void pool_slab(StopCheck& stop, bool nans, const Acc* slab, Acc* found, Number* where,
                 int thread) const {
    const std::span<const Axis> outer = axes_.first(axes_.size() - 1);
    const Axis& last = axes_.back();
    Span* const spans = spans_ + thread * static_cast<std::int64_t>(axes_.size());
    std::int64_t* const starts = starts_ + thread * window_rows_;
    Row<Acc> row{slab, starts, 0, last_, last.window.dilation, found, where};
    each_position(stop, outer, spans, 0, [&] {
      row.count = 0;
      under(outer, spans, 0, 0, 0,
            [&](std::int64_t number, std::int64_t) { starts[row.count++] = number; });
      const std::int64_t window = row.count * std::min(last.window.kernel, last.in) + 1;
      const std::int64_t at_once = StopCheck::interval / window + 1;
      for (std::int64_t o = 0; o < last.out; o += at_once) {
        const std::int64_t end = std::min(o + at_once, last.out);
        if (nans) row.template pool<typename Kind::WithNans>(o, end);
        else row.template pool<Kind>(o, end);
        stop.add_work((end - o) * window);
      }
      row.found += last.out * lanes;
      if constexpr (Kind::says_where) row.where += last.out * lanes;
    });
  }

  int threads_ = 1;
  Bands bands_{};
  /// Of a unit: elements, places, and places for one of the first axis.
  std::int64_t slab_ = 0, places_ = 0, line_places_ = 0;
  std::int64_t room_ = 0, window_rows_ = 0;
  std::span<Axis> axes_;        ///< of a unit
  Span* last_ = nullptr;        ///< by place of the last axis
  Acc* counts_ = nullptr;       ///< elements of a mean, by place
  Acc* last_counts_ = nullptr;  ///< of them along the last axis
  // One a thread.
  Span* spans_ = nullptr;
  std::int64_t* starts_ = nullptr;
  Acc *slabs_ = nullptr, *found_ = nullptr;  ///< in all lanes
  Number* where_ = nullptr;                  ///< the same
  Acc* rooms_ = nullptr;                     ///< one a lane, for what does not stand in x or y
};

bool is_empty(const PoolSpec& spec, Extents out) {
  return spec.window.kernel.empty() || product(out) == 0;
}

/// The fast way that suits the windows, if there is one.
template <class T, class Kind> struct Fast {
  void lay_out(Workspace& w, const PoolSpec& spec, Extents in, Extents out) {
    along_rows.lay_out(w, spec, in, out);
    if (!along_rows.fits()) in_lanes.lay_out(w, spec, in, out);
  }
  /// False: there is none.
  bool run(StopCheck& stop, const Pooling<T>& p, const PoolSpec& spec) const {
    if (along_rows.fits()) along_rows.run(stop, p, spec);
    else if (in_lanes.fits()) in_lanes.run(stop, p, spec);
    else return false;
    return true;
  }

  AlongRows<T, Kind> along_rows;
  InLanes<T, Kind> in_lanes;
};

template <class T> struct FastMax {
  using Acc = typename Pooling<T>::Acc;
  /// Wide enough for the numbers of elements.
  using Wide = std::conditional_t<sizeof(Acc) < 4, std::int32_t, Acc>;

  void lay_out(Workspace& w, const PoolSpec& spec, Extents in, Extents out, bool where) {
    if (is_empty(spec, out)) return;
    if (where) firsts.lay_out(w, spec, in, out);
    else greatest.lay_out(w, spec, in, out);
  }
  void run(StopCheck& stop, const Pooling<T>& p, const PoolSpec& spec) const {
    if (firsts.fits()) firsts.run(stop, p, spec);
    else if (!greatest.run(stop, p, spec)) max_by_window(stop, p);
  }

  Fast<T, Greatest<Acc>> greatest;
  InLanes<T, First<Wide>> firsts;
};

template <class T> struct FastMean {
  void lay_out(Workspace& w, const PoolSpec& spec, Extents in, Extents out, bool) {
    if (!is_empty(spec, out)) sums.lay_out(w, spec, in, out);
  }
  void run(StopCheck& stop, const Pooling<T>& p, const PoolSpec& spec) const {
    if (!sums.run(stop, p, spec)) mean_by_window(stop, p, spec.count_include_pad);
  }

  Fast<T, Sum<typename Pooling<T>::Acc>> sums;
};

}  // namespace

std::shared_ptr<const SizedKernel> fast_max_pool(const PoolSpec& spec, DType t) {
  if (t == DType::i8) return pool_kernel<std::int8_t, FastMax>(spec, 2);
  if (t == DType::u8) return pool_kernel<std::uint8_t, FastMax>(spec, 2);
  if (!is_float(t)) return max_pool(spec, t);
  std::shared_ptr<const SizedKernel> kernel;
  with_float_type(t, [&](auto zero) { kernel = pool_kernel<decltype(zero), FastMax>(spec, 2); });
  return kernel;
}

std::shared_ptr<const SizedKernel> fast_average_pool(const PoolSpec& spec, DType t) {
  std::shared_ptr<const SizedKernel> kernel;
  with_float_type(t, [&](auto zero) { kernel = pool_kernel<decltype(zero), FastMean>(spec, 1); });
  return kernel;
}

}  // namespace rondel::kernels
