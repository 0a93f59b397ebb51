#include "kernels/pool.h"

#include "kernels/pooling.h"

namespace rondel::kernels {
namespace {

using namespace pooling;
using Extents = std::span<const std::int64_t>;

template <class T> struct PlainMax {
  void lay_out(Workspace&, const PoolSpec&, Extents, Extents, bool) {}
  void run(StopCheck& stop, const Pooling<T>& p, const PoolSpec&) const { max_by_window(stop, p); }
};

template <class T> struct PlainMean {
  void lay_out(Workspace&, const PoolSpec&, Extents, Extents, bool) {}
  void run(StopCheck& stop, const Pooling<T>& p, const PoolSpec& spec) const {
    mean_by_window(stop, p, spec.count_include_pad);
  }
};

}  // namespace

std::shared_ptr<const SizedKernel> max_pool(const PoolSpec& spec, DType t) {
  std::shared_ptr<const SizedKernel> kernel;
  with_number_type(t, [&](auto zero) { kernel = pool_kernel<decltype(zero), PlainMax>(spec, 2); });
  return kernel;
}

std::shared_ptr<const SizedKernel> average_pool(const PoolSpec& spec, DType t) {
  return float_pool_kernel<PlainMean>(spec, t, 1);
}

}  // namespace rondel::kernels
