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

}  // namespace

std::shared_ptr<const SizedKernel> max_pool(const PoolSpec& spec, DType t) {
  std::shared_ptr<const SizedKernel> kernel;
  with_number_type(t, [&](auto zero) {
    using T = decltype(zero);
    kernel = std::make_shared<Pool<T, Plain<T, MaxByWindow>>>(spec, 2);
  });
  return kernel;
}

std::shared_ptr<const SizedKernel> average_pool(const PoolSpec& spec, DType t) {
  std::shared_ptr<const SizedKernel> kernel;
  with_float_type(t, [&](auto zero) {
    using T = decltype(zero);
    kernel = std::make_shared<Pool<T, Plain<T, MeanByWindow>>>(spec, 1);
  });
  return kernel;
}

}  // namespace rondel::kernels
