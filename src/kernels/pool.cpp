#include "kernels/pool.h"

#include "kernels/pooling.h"

namespace rondel::kernels {
namespace {

using namespace pooling;

/// The plain way.
template <class T, template <class, std::int64_t> class ByWindow> struct Plain {
  void lay_out(Workspace&, const PoolSpec&, std::span<const std::int64_t>,
               std::span<const std::int64_t>) {}
  void run(StopCheck& stop, const Pooling<T>& p, const PoolSpec& spec) const {
    for (std::int64_t plane = 0; plane < p.planes; ++plane)
      ByWindow<T, 1>::run(stop, p, spec, plane);
  }
};

template <class T> using PlainMax = Plain<T, MaxByWindow>;
template <class T> using PlainMean = Plain<T, MeanByWindow>;

}  // namespace

std::shared_ptr<const SizedKernel> max_pool(const PoolSpec& spec, DType t) {
  return pool_of_numbers<PlainMax>(spec, t, 2);
}

std::shared_ptr<const SizedKernel> average_pool(const PoolSpec& spec, DType t) {
  return pool_of_floats<PlainMean>(spec, t, 1);
}

}  // namespace rondel::kernels
