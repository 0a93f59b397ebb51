#pragma once
#include "kernels/pool_planes.h"

/// The windows of each row of results. Used by fast pooling only.
namespace rondel::kernels::pooling {

/// The windows of one row of results, in one of the planes of a unit.
template <class Acc> struct RowWindow {
  const std::int64_t* starts;  ///< offsets in the plane of the rows that the windows read
  std::int64_t count;          ///< number of `starts`
  std::int64_t plane;          ///< offset of the plane
  Acc elements;                ///< element count of a mean along all axes but the last; 1 for max
};

/// The windows of all rows of results of the planes of a unit.
template <class Acc> class RowWindows {
 public:
  /// `rows`: rows of results per plane. `window_rows`: the most rows that a window reads.
  void lay_out(Workspace& w, std::int64_t planes, std::int64_t rows, std::int64_t window_rows) {
    planes_ = planes;
    rows_ = rows;
    windows_ = w.take<RowWindow<Acc>>(planes * rows);
    starts_ = w.take<std::int64_t>(rows * window_rows);
  }

  void prepare(StopCheck& stop, const Planes<Acc>& p, bool is_mean, bool with_padding) const {
    const std::span<const Axis> outer = p.axes.first(p.axes.size() - 1);
    RowWindow<Acc>* w = windows_;
    std::int64_t* next = starts_;
    each_position(stop, outer, p.spans, 0, [&] {
      w->starts = next;
      under(outer, p.spans, 0, 0, 0, [&](std::int64_t offset, std::int64_t) { *next++ = offset; });
      w->count = next - w->starts;
      w->plane = 0;
      w->elements = static_cast<Acc>(is_mean ? counted({p.spans, outer.size()}, with_padding) : 1);
      stop.add_work(w->count * 16);
      ++w;
    });
    for (const RowWindow<Acc>* same = windows_; w < windows_ + planes_ * rows_; ++w, ++same) {
      *w = *same;
      w->plane += p.in_size;
    }
  }

  std::span<const RowWindow<Acc>> all() const {
    return {windows_, static_cast<std::size_t>(planes_ * rows_)};
  }

 private:
  std::int64_t planes_ = 0, rows_ = 0;
  RowWindow<Acc>* windows_ = nullptr;
  std::int64_t* starts_ = nullptr;
};

/// Reduces `several` vectors of columns. at[i]: the offset of vector i in each row under the
/// windows.
template <class R, int several>
[[gnu::always_inline]] inline VectorGroup<R, several> columns_of(
    const typename R::Acc* plane, const RowWindow<typename R::Acc>& w, const std::int64_t* at) {
  VectorGroup<R, several> columns;
  for (std::int64_t r = 0; r < w.count; ++r) {
    const typename R::Acc* const row = plane + w.starts[r];
    columns.add([&](int i) { return R::Pack::load(row + at[i]); });
  }
  columns.end_column();
  return columns;
}

}  // namespace rondel::kernels::pooling
