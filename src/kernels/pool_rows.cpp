#include "kernels/pool.h"

#include "kernels/pooling.h"
#include "kernels/vectors.h"

#include <limits>

/// Pooling a row of windows at a time, vectorised over the row. Each window meets its elements in
/// the same order as in the plain way, so the results are the same.
namespace rondel::kernels {
namespace {

using namespace pooling;

/// Columns of a row that are worked on at once, so that they stay in the cache.
constexpr std::int64_t most_columns = 1024;
/// Rows of fewer columns are not worth it: planes beside each other are.
constexpr std::int64_t least_columns = 8, planes_at_once = 8;
/// Elements of a window along the row whose reach is worked out once.
constexpr std::int64_t most_taps = 4096;

/// Where column j of a row reads for one element of its window: at j * stride + offset, for columns
/// [from, to).
struct Tap {
  std::int64_t offset, from, to;
};

Tap tap_of(const Axis& row, std::int64_t k) {
  const std::int64_t offset = k * row.window.dilation - row.window.begin;
  const Inside in = inside(offset, row.window.stride, row.in, row.out);
  return {offset, in.from, in.to};
}

/// f(column, where it reads) for each of `count` columns; the usual strides are known to the
/// compiler.
template <class T, class F>
[[gnu::always_inline]] inline void each_column(const T* x, std::int64_t stride, std::int64_t count,
                                               const F& f) {
  if (stride == 1)
    for (std::int64_t j = 0; j < count; ++j) f(j, x[j]);
  else if (stride == 2)
    for (std::int64_t j = 0; j < count; ++j) f(j, x[2 * j]);
  else
    for (std::int64_t j = 0; j < count; ++j) f(j, x[j * stride]);
}

/// Columns [from, to) of one row of windows, and what they gather.
template <class Acc> struct Columns {
  std::int64_t from, to;
  Acc* best;            ///< or sums; of column `from` on
  std::int64_t* where;  ///< null: not wanted
};

template <class T> struct MaxOfRow {
  using Acc = typename Pooling<T>::Acc;
  static constexpr bool has_where = true;
  template <std::int64_t lanes> using ByWindow = MaxByWindow<T, lanes>;

  void lay_out(Workspace&, std::int64_t) {}
  void begin_row(const Pooling<T>&, const PoolSpec&) {}

  static void start(const Columns<Acc>& c, bool none) {
    using Limits = std::numeric_limits<Acc>;
    const Acc least = Limits::has_infinity ? static_cast<Acc>(-Limits::infinity())
                                           : Limits::lowest();
    std::fill(c.best, c.best + (c.to - c.from), none ? Acc{} : least);
    if (c.where != nullptr) std::fill(c.where, c.where + (c.to - c.from), -1);
  }

  /// `x` and `index` are those of the column `best` begins with.
  [[gnu::always_inline]] static void add(Acc* __restrict best, std::int64_t* __restrict where,
                                         const T* __restrict x, std::int64_t stride,
                                         std::int64_t index, std::int64_t index_step,
                                         std::int64_t count) {
    if (where == nullptr)
      return each_column(x, stride, count, [&](std::int64_t j, T value) {
        const auto v = static_cast<Acc>(value);
        best[j] = beats(v, best[j]) ? v : best[j];
      });
    each_column(x, stride, count, [&](std::int64_t j, T value) {
      const auto v = static_cast<Acc>(value);
      const bool wins = where[j] < 0 || beats(v, best[j]);
      best[j] = wins ? v : best[j];
      where[j] = wins ? index + j * index_step : where[j];
    });
  }

  void finish(const Columns<Acc>& c, const Pooling<T>& p, T* y, std::int64_t* where,
              std::int64_t plane, bool whole) const {
    const Axis& row = p.axes.back();
    for (std::int64_t j = 0; j < c.to - c.from; ++j) {
      const bool empty = !whole && row.span_at(c.from + j).count == 0;
      y[j] = static_cast<T>(empty ? Acc{} : c.best[j]);
    }
    if (where == nullptr) return;
    for (std::int64_t j = 0; j < c.to - c.from; ++j)
      where[j] = c.where[j] < 0 ? -1 : c.where[j] + plane * p.in_size;
  }
};

template <class T> struct MeanOfRow {
  using Acc = typename Pooling<T>::Acc;
  static constexpr bool has_where = false;
  template <std::int64_t lanes> using ByWindow = MeanByWindow<T, lanes>;

  Acc* counts;           ///< by column
  std::int64_t of = -1;  ///< for how many elements along the other axes

  void lay_out(Workspace& w, std::int64_t columns) { counts = w.take<Acc>(columns); }

  void begin_row(const Pooling<T>& p, const PoolSpec& spec) {
    const std::size_t others = p.axes.size() - 1;
    const std::int64_t now = counted({p.spans, others}, spec.count_include_pad);
    if (now == of) return;
    of = now;
    const Axis& row = p.axes.back();
    for (std::int64_t j = 0; j < row.out; ++j) {
      const Span s = row.span_at(j);
      counts[j] = static_cast<Acc>(now * counted({&s, 1}, spec.count_include_pad));
    }
  }

  static void start(const Columns<Acc>& c, bool) {
    std::fill(c.best, c.best + (c.to - c.from), Acc{});
  }

  [[gnu::always_inline]] static void add(Acc* __restrict sum, std::int64_t*, const T* __restrict x,
                                         std::int64_t stride, std::int64_t, std::int64_t,
                                         std::int64_t count) {
    each_column(x, stride, count,
                [&](std::int64_t j, T value) { sum[j] += static_cast<Acc>(value); });
  }

  void finish(const Columns<Acc>& c, const Pooling<T>&, T* y, std::int64_t*, std::int64_t,
              bool) const {
    for (std::int64_t j = 0; j < c.to - c.from; ++j)
      y[j] = static_cast<T>(c.best[j] / counts[c.from + j]);
  }
};

/// `Row` says what is gathered: `start` (`none`: no row of the input is under these windows), `add`
/// for each element of the windows, `finish` (`whole`: none of them lies in padding alone).
template <class T, class Row> struct Rows {
  using Acc = typename Pooling<T>::Acc;
  Row gathered;
  Acc* best;
  std::int64_t* where;
  Tap* taps;

  void lay_out(Workspace& w, const PoolSpec& spec, std::span<const std::int64_t>,
               std::span<const std::int64_t> out) {
    const std::int64_t columns = out.size() > 2 ? out.back() : 0;
    best = w.take<Acc>(most_columns);
    where = w.take<std::int64_t>(Row::has_where ? most_columns : 0);
    taps = w.take<Tap>(spec.window.kernel.empty() ? 0
                                                  : std::min(spec.window.kernel.back(), most_taps));
    gathered.lay_out(w, columns);
  }

  void run(Looks& looks, const Pooling<T>& p, const PoolSpec& spec) {
    if (p.axes.empty() || p.axes.back().out < least_columns) return by_window(looks, p, spec);
    const Axis& row = p.axes.back();
    for (std::int64_t k = 0; k < std::min(row.window.kernel, most_taps); ++k)
      taps[k] = tap_of(row, k);
    bool whole = true;  // no window lies in padding alone
    for (std::int64_t j = 0; j < row.out; ++j) whole = whole && row.span_at(j).count > 0;
    for (std::int64_t plane = 0; plane < p.planes; ++plane) {
      std::int64_t number = plane * p.out_size;
      each_place(looks, p.axes.first(p.axes.size() - 1), p.spans, 0, [&] {
        one_row(looks, p, spec, plane, number, whole);
        number += row.out;
      });
    }
  }

 private:
  using Several = typename Row::template ByWindow<planes_at_once>;
  using One = typename Row::template ByWindow<1>;

  static void by_window(Looks& looks, const Pooling<T>& p, const PoolSpec& spec) {
    std::int64_t plane = 0;
    for (; plane + planes_at_once <= p.planes; plane += planes_at_once)
      Several::run(looks, p, spec, plane);
    for (; plane < p.planes; ++plane) One::run(looks, p, spec, plane);
  }

  void one_row(Looks& looks, const Pooling<T>& p, const PoolSpec& spec, std::int64_t plane,
               std::int64_t number, bool whole) {
    const Axis& row = p.axes.back();
    const auto others = p.axes.first(p.axes.size() - 1);
    const bool none = counted({p.spans, others.size()}, false) == 0;
    gathered.begin_row(p, spec);
    for (std::int64_t from = 0; from < row.out; from += most_columns) {
      const Columns<Acc> c{from, std::min(from + most_columns, row.out), best,
                           p.where != nullptr ? where : nullptr};
      gathered.start(c, none);
      const T* x = p.x + plane * p.in_size;
      under(others, p.spans, 0, 0, 0, [&](std::int64_t offset, std::int64_t index) {
        add_row(looks, row, c, x + offset, index);
      });
      gathered.finish(c, p, p.y + number + from,
                      p.where != nullptr ? p.where + number + from : nullptr, plane, whole);
      looks.did(c.to - c.from);
    }
  }

  /// One row of the input: every element of the windows that lies in it.
  void add_row(Looks& looks, const Axis& row, const Columns<Acc>& c, const T* x,
               std::int64_t index) const {
    const std::int64_t stride = row.window.stride;
    constexpr std::int64_t between_looks = 256;
    for (std::int64_t first = 0; first < row.window.kernel; first += between_looks) {
      const std::int64_t end = std::min(first + between_looks, row.window.kernel);
      with_vectors([&] {
        for (std::int64_t k = first; k < end; ++k) {
          const Tap tap = k < most_taps ? taps[k] : tap_of(row, k);
          const std::int64_t from = std::max(tap.from, c.from), to = std::min(tap.to, c.to);
          if (from >= to) continue;
          const std::int64_t at = from * stride + tap.offset, j = from - c.from;
          Row::add(c.best + j, c.where != nullptr ? c.where + j : nullptr, x + at, stride,
                   index + at * row.index_step, stride * row.index_step, to - from);
        }
      });
      looks.did((end - first) * ((c.to - c.from) / 8 + 4));
    }
  }
};

}  // namespace

std::shared_ptr<const SizedKernel> fast_max_pool(const PoolSpec& spec, DType t) {
  std::shared_ptr<const SizedKernel> kernel;
  with_number_type(t, [&](auto zero) {
    using T = decltype(zero);
    kernel = std::make_shared<Pool<T, Rows<T, MaxOfRow<T>>>>(spec, 2);
  });
  return kernel;
}

std::shared_ptr<const SizedKernel> fast_average_pool(const PoolSpec& spec, DType t) {
  std::shared_ptr<const SizedKernel> kernel;
  with_float_type(t, [&](auto zero) {
    using T = decltype(zero);
    kernel = std::make_shared<Pool<T, Rows<T, MeanOfRow<T>>>>(spec, 1);
  });
  return kernel;
}

}  // namespace rondel::kernels
