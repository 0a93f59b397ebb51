#pragma once
#include "kernels/convert.h"
#include "kernels/pool_reductions.h"
#include "kernels/pooling.h"
#include "kernels/threads.h"
#include "kernels/vectors.h"

/// Code shared by the fast pooling algorithms. Internal to them.
namespace rondel::kernels::pooling {

/// The operands of a pooling call that computes with type Acc. x and y may have another type.
template <class Acc> struct Planes {
  std::span<const Axis> axes;
  Span* spans;
  const Acc* x = nullptr;  ///< null if the elements of x and y are not of type Acc
  Acc* y = nullptr;
  std::int64_t* where;  ///< null: no indices are computed
  std::int64_t planes, in_size, out_size;
  bool column_major;    ///< how indices are counted
  const void* other_x;  ///< x and y of any type, for `read` and `give`
  void* other_y;
  void (*read)(const void* x, std::int64_t first, std::int64_t n, Acc* to);
  void (*give)(const Acc* from, std::int64_t n, void* y, std::int64_t first);

  bool widens() const { return x == nullptr; }
  /// to[i] = x[first + i].
  void copy(std::int64_t first, std::int64_t n, Acc* to) const { read(other_x, first, n, to); }
  /// y[first + i] = from[i].
  void write(const Acc* from, std::int64_t n, std::int64_t first) const {
    give(from, n, other_y, first);
  }
};

template <class Acc, class T> Planes<Acc> planes_of(const Pooling<T>& p) {
  Planes<Acc> planes{
      .axes = p.axes,
      .spans = p.spans,
      .where = p.where,
      .planes = p.planes,
      .in_size = p.in_size,
      .out_size = p.out_size,
      .column_major = p.column_major,
      .other_x = p.x,
      .other_y = p.y,
      .read = [](const void* x, std::int64_t first, std::int64_t n,
                 Acc* to) { convert(static_cast<const T*>(x) + first, n, to); },
      .give = [](const Acc* from, std::int64_t n, void* y,
                 std::int64_t first) { convert(from, n, static_cast<T*>(y) + first); }};
  if constexpr (std::is_same_v<Acc, T>) {
    planes.x = p.x;
    planes.y = p.y;
  }
  return planes;
}

/// The sum of n elements, in any order.
template <class T> T sum_of(const T* x, std::int64_t n) {
  using P = HalfPack<T>;
  T sum{};
  with_vectors([=, &sum] {
    typename P::Vector sums[4]{};
    std::int64_t i = 0;
    for (; i + 4 * P::count <= n; i += 4 * P::count)
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) sums[k] += P::load(x + i + k * P::count);
    const typename P::Vector all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    T rest{};
    for (; i < n; ++i) rest += x[i];
    for (int l = 0; l < P::count; ++l) rest += all[l];
    sum = rest;
  });
  return sum;
}
/// Whether there is a NaN among n elements, or two infinities.
template <class T> bool may_have_nan(StopCheck& stop, const T* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += StopCheck::interval) {
    const std::int64_t some = std::min(StopCheck::interval, n - i);
    const T sum = sum_of(x + i, some);
    if (sum != sum) return true;
    stop.add_work(some);
  }
  return false;
}

/// Whether every window position reads at least one element along this axis. May return false
/// wrongly if the axis is shorter than the dilation.
inline bool reads_at_every_place(const WindowAxis& w, std::int64_t in, std::int64_t out) {
  if (in == 0 || w.begin >= w.reach() || (out - 1) * w.stride - w.begin >= in) return false;
  return w.begin == 0 || w.dilation <= in;
}

/// Whether Acc represents the element count of a mean, along all axes but the last, exactly.
template <class Acc> bool counts_exactly(const PoolSpec& spec) {
  constexpr std::int64_t most = std::int64_t{1} << std::numeric_limits<Acc>::digits;
  std::int64_t count = 1;
  for (std::size_t a = 0; a + 1 < spec.window.kernel.size(); ++a) {
    if (spec.window.kernel[a] > most / count) return false;
    count *= spec.window.kernel[a];
  }
  return true;
}

/// The most rows (along the last axis) that a window reads.
inline std::int64_t rows_under_window(const PoolSpec& spec, std::span<const std::int64_t> in) {
  std::int64_t rows = 1;
  for (std::size_t a = 0; a + 1 < spec.window.kernel.size(); ++a)
    rows *= std::min(spec.window.kernel[a], in[a + 2]);
  return rows;
}

/// How many threads to use; one if the work is too little to be divided.
inline int threads_for(const PoolSpec& spec, std::span<const std::int64_t> out) {
  constexpr std::int64_t least_parallel = std::int64_t{1} << 20;  // element reads
  std::int64_t window = 1;
  for (const std::int64_t extent : spec.window.kernel) window = checked_mul(window, extent);
  return product(out) < least_parallel / window ? 1 : thread_count();
}

/// to[o]: the element count of a mean along this axis, for position o.
template <class Acc> void count_along(const Axis& axis, bool with_padding, Acc* to) {
  for (std::int64_t o = 0; o < axis.out; ++o) {
    const Span span = axis.span_at(o);
    to[o] = static_cast<Acc>(counted({&span, 1}, with_padding));
  }
}

}  // namespace rondel::kernels::pooling
