#pragma once
#include "base/checked.h"
#include "kernels/lane_windows.h"
#include "kernels/parallel_for.h"
#include "kernels/pool_planes.h"

/// Max pooling with indices of many planes at once: one plane per vector lane. Used by fast pooling
/// only.
namespace rondel::kernels::pooling {

template <class Acc> class PlanesInLanes {
  using Reduction = ArgMax<Acc>;
  using Number = typename Lanes<Acc>::Integer;
  using Extents = std::span<const std::int64_t>;
  static constexpr std::int64_t lanes = Lanes<Acc>::count;
  /// Planes of this many elements would take too much memory.
  static constexpr std::int64_t too_many = std::int64_t{1} << 18;

 public:
  void lay_out(Workspace& w, const PoolSpec& spec, Extents in, Extents out, bool widens) {
    in_size_ = product(in.subspan(2));
    out_size_ = product(out.subspan(2));
    if (!fits()) return;
    rank_ = static_cast<std::int64_t>(in.size()) - 2;
    window_rows_ = rows_under_window(spec, in);
    threads_ = threads_for(spec, out);
    last_ = w.take<Span>(out.back());
    spans_ = w.take<Span>(threads_ * rank_);
    starts_ = w.take<std::int64_t>(threads_ * window_rows_);
    slabs_ = w.take<Acc>(threads_ * in_size_ * lanes);
    found_ = w.take<Acc>(threads_ * out_size_ * lanes);
    where_ = w.take<Number>(threads_ * out_size_ * lanes);
    numbers_ = w.take<Number>(threads_ * out_size_ * lanes);
    wide_ = w.take<Acc>(widens ? threads_ * std::max(in_size_, out_size_) * lanes : 0);
    spare_ = w.take<Acc>(threads_ * out_size_);
  }

  bool fits() const { return std::max(in_size_, out_size_) < too_many; }

  void run(StopCheck& stop, const Planes<Acc>& p) const {
    for (std::int64_t o = 0; o < p.axes.back().out; ++o) last_[o] = p.axes.back().span_at(o);
    stop.add_work(p.axes.back().out * 16);
    parallel_for(stop, threads_, divide_up(p.planes, lanes),
                 [&](StopCheck& own, std::int64_t group, int thread) {
                   pool_group(own, p, group * lanes, thread);
                 });
  }

 private:
  void pool_group(StopCheck& stop, const Planes<Acc>& p, std::int64_t first, int thread) const {
    const std::int64_t used = std::min(lanes, p.planes - first);
    const Acc* in[lanes];
    Acc* out[lanes];
    Number* numbers[lanes];
    const Acc* x = p.widens() ? nullptr : p.x + first * in_size_;
    Acc* y = p.widens() ? nullptr : p.y + first * out_size_;
    if (p.widens()) {
      Acc* const wide = wide_ + thread * std::max(in_size_, out_size_) * lanes;
      p.copy(first * in_size_, used * in_size_, wide);
      stop.add_work(used * in_size_);
      x = y = wide;  // x has been copied to the slab before y is written
    }
    for (std::int64_t l = 0; l < lanes; ++l) {
      in[l] = x + (l < used ? l * in_size_ : 0);
      out[l] = l < used ? y + l * out_size_ : spare_ + thread * out_size_;
      numbers[l] = numbers_ + (thread * lanes + l) * out_size_;
    }
    Acc* const slab = slabs_ + thread * in_size_ * lanes;
    Acc* const found = found_ + thread * out_size_ * lanes;
    Number* const where = where_ + thread * out_size_ * lanes;
    interleave_all(stop, in, in_size_, slab);
    pool_slab(stop, p, slab, found, where, thread);
    deinterleave_all(stop, found, out_size_, out);
    deinterleave_all(stop, where, out_size_, numbers);
    if (p.widens()) p.write(y, used * out_size_, first * out_size_);
    for (std::int64_t l = 0; l < used; ++l) write_where(stop, p, first + l, numbers[l]);
  }

  void pool_slab(StopCheck& stop, const Planes<Acc>& p, const Acc* slab, Acc* found, Number* where,
                 int thread) const {
    const std::span<const Axis> outer = p.axes.first(p.axes.size() - 1);
    const Axis& last = p.axes.back();
    Span* const spans = spans_ + thread * rank_;
    std::int64_t* const starts = starts_ + thread * window_rows_;
    LaneRow<Acc> row{slab, starts, 0, last_, last.window.dilation, found, where};
    each_position(stop, outer, spans, 0, [&] {
      row.count = 0;
      under(outer, spans, 0, 0, 0,
            [&](std::int64_t offset, std::int64_t) { starts[row.count++] = offset; });
      row.template pool_all<Reduction>(stop, last.out);
      row.found += last.out * lanes;
      row.where += last.out * lanes;
    });
  }

  /// Converts the elements' numbers in their plane to indices in the whole of x.
  static void write_where(StopCheck& stop, const Planes<Acc>& p, std::int64_t plane,
                          const Number* numbers) {
    std::int64_t* const where = p.where + plane * p.out_size;
    const std::int64_t first = plane * p.in_size;
    with_vectors([&] {
      for (std::int64_t i = 0; i < p.out_size; ++i)
        where[i] = numbers[i] < 0 ? -1 : first + numbers[i];
    });
    if (p.column_major)
      for (std::int64_t i = 0; i < p.out_size; ++i)
        if (numbers[i] >= 0) where[i] = first + column_major(p, numbers[i]);
    stop.add_work(p.out_size * (p.column_major ? 16 : 1));
  }
  static std::int64_t column_major(const Planes<Acc>& p, std::int64_t number) {
    std::int64_t index = 0;
    for (const Axis& axis : p.axes) index += number / axis.step % axis.in * axis.index_step;
    return index;
  }

  std::int64_t in_size_ = too_many, out_size_ = too_many, rank_ = 0, window_rows_ = 0;
  int threads_ = 1;
  Span* last_ = nullptr;  ///< the part of a row under the window, by position
  // One per thread.
  Span* spans_ = nullptr;
  std::int64_t* starts_ = nullptr;
  Acc *slabs_ = nullptr, *found_ = nullptr;  ///< elements and results, interleaved by lane
  Number *where_ = nullptr, *numbers_ = nullptr;
  Acc* wide_ = nullptr;   ///< x, then y, converted to Acc if they have another type
  Acc* spare_ = nullptr;  ///< discarded results of lanes without a plane
};

}  // namespace rondel::kernels::pooling
