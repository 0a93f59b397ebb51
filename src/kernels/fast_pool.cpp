#include "kernels/index_pool.h"
#include "kernels/long_row_pool.h"
#include "kernels/pool.h"
#include "kernels/short_row_pool.h"

namespace rondel::kernels {
namespace {

using namespace pooling;
using Extents = std::span<const std::int64_t>;

bool is_empty(const PoolSpec& spec, Extents out) {
  return spec.window.kernel.empty() || product(out) == 0;
}

/// Chooses an algorithm by the length of rows: `ShortRows`, or `LongRows` with vectors of the
/// processor's register size.
template <class Long, class Short> struct ByRows {
  using Acc = typename Short::Acc;

  void lay_out(Workspace& w, const PoolSpec& spec, Extents in, Extents out, bool widens) {
    short_rows.lay_out(w, spec, in, out, widens);
    if (short_rows.fits()) return;
    if (vectors() == Vectors::avx512) long_vectors.lay_out(w, spec, in, out, widens);
    if (!long_vectors.fits()) short_vectors.lay_out(w, spec, in, out, widens);
  }
  /// Returns false if no algorithm supports the shapes.
  bool run(StopCheck& stop, const Planes<Acc>& p, const PoolSpec& spec) const {
    if (short_rows.fits()) short_rows.run(stop, p, spec);
    else if (long_vectors.fits()) long_vectors.run(stop, p, spec);
    else if (short_vectors.fits()) short_vectors.run(stop, p, spec);
    else return false;
    return true;
  }

  ShortRows<Short> short_rows;
  LongRows<Long> long_vectors;
  LongRows<Short> short_vectors;
};

/// 8-bit integers are computed as f32, which represents them exactly. Separate code for them would
/// not be worth its compile time.
template <class T> struct FastMax {
  using Acc = std::conditional_t<std::is_integral_v<T>, float, typename Pooling<T>::Acc>;

  void lay_out(Workspace& w, const PoolSpec& spec, Extents in, Extents out, bool where) {
    if (is_empty(spec, out)) return;
    constexpr bool widens = !std::is_same_v<T, Acc>;
    if (where) firsts.lay_out(w, spec, in, out, widens);
    else greatest.lay_out(w, spec, in, out, widens);
  }
  void run(StopCheck& stop, const Pooling<T>& p, const PoolSpec& spec) const {
    const Planes<Acc> planes = planes_of<Acc>(p);
    if (firsts.fits()) firsts.run(stop, planes);
    else if (!greatest.run(stop, planes, spec)) max_by_window(stop, p);
  }

  ByRows<Max<Acc, 64>, Max<Acc>> greatest;
  PlanesInLanes<Acc> firsts;
};

template <class T> struct FastMean {
  using Acc = typename Pooling<T>::Acc;

  void lay_out(Workspace& w, const PoolSpec& spec, Extents in, Extents out, bool) {
    if (!is_empty(spec, out)) sums.lay_out(w, spec, in, out, !std::is_same_v<T, Acc>);
  }
  void run(StopCheck& stop, const Pooling<T>& p, const PoolSpec& spec) const {
    if (!sums.run(stop, planes_of<Acc>(p), spec)) mean_by_window(stop, p, spec.count_include_pad);
  }

  ByRows<Sum<Acc, 64>, Sum<Acc>> sums;
};

}  // namespace

std::shared_ptr<const SizedKernel> fast_max_pool(const PoolSpec& spec, DType t) {
  if (t == DType::i8) return pool_kernel<std::int8_t, FastMax>(spec, 2);
  if (t == DType::u8) return pool_kernel<std::uint8_t, FastMax>(spec, 2);
  if (!is_float(t)) return max_pool(spec, t);
  return float_pool_kernel<FastMax>(spec, t, 2);
}

std::shared_ptr<const SizedKernel> fast_average_pool(const PoolSpec& spec, DType t) {
  return float_pool_kernel<FastMean>(spec, t, 1);
}

}  // namespace rondel::kernels
