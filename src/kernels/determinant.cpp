#include "kernels/determinant.h"

#include "kernels/narrow_floats.h"
#include "kernels/vectors.h"
#include "kernels/views.h"
#include "kernels/workspace.h"

#include <array>
#include <cmath>

namespace rondel::kernels {
namespace {

template <class T> class Determinant final : public SizedKernel {
 public:
  explicit Determinant(std::size_t rank) : SizedKernel(1, 1), rank_(rank) {}

  std::int64_t workspace(std::span<const Operand> o) const override {
    Workspace counted;
    lay_out(counted, o[0]);
    return counted.bytes();
  }

  Status run(Context& context, std::span<const View> v) const override {
    StopCheck stop(context);
    Workspace workspace(v.back());
    const Operand x = operand_of(v[0], rank_);
    const Buffers buffers = lay_out(workspace, x);
    const std::int64_t n = x.extents.back(), size = n * n;
    const std::int64_t count = product(x.extents.first(rank_ - 2));
    const T* from = row_major(stop, v[0], rank_, buffers.packing);
    T* to = static_cast<T*>(v[1].data);
    for (std::int64_t i = 0; i < count; ++i, from += size) {
      for (std::int64_t k = 0; k < size; ++k) buffers.matrix[k] = static_cast<Acc>(from[k]);
      to[i] = static_cast<T>(eliminate(stop, buffers.matrix, n));
    }
    return done;
  }

 private:
  using Acc = std::conditional_t<std::is_same_v<T, double>, double, float>;
  struct Buffers {
    T* packing;
    Acc* matrix;
  };
  static Buffers lay_out(Workspace& w, const Operand& x) {
    const std::int64_t n = x.extents.back();
    return {w.take<T>(packing_size(x)), w.take<Acc>(checked_mul(n, n))};
  }

  /// The row from `k` on with the greatest element of column k; NaN is greater than all numbers.
  static std::int64_t pivot_row(const Acc* a, std::int64_t n, std::int64_t k) {
    std::int64_t best = k;
    for (std::int64_t i = k; i < n; ++i) {
      const Acc size = std::abs(a[i * n + k]);
      if (std::isnan(size)) return i;
      if (size > std::abs(a[best * n + k])) best = i;
    }
    return best;
  }

  static void subtract(Acc* row, const Acc* pivot, Acc factor, std::int64_t count) {
    with_vectors([=] {
      for (std::int64_t j = 0; j < count; ++j) row[j] -= factor * pivot[j];
    });
  }

  static Acc eliminate(StopCheck& stop, Acc* a, std::int64_t n) {
    Acc product = 1;
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int64_t best = pivot_row(a, n, k);
      if (best != k) {
        std::swap_ranges(a + k * n + k, a + (k + 1) * n, a + best * n + k);
        product = -product;
      }
      const Acc pivot = a[k * n + k];
      product *= pivot;
      if (pivot == 0) return product;
      for (std::int64_t i = k + 1; i < n; ++i) {
        subtract(a + i * n + k + 1, a + k * n + k + 1, a[i * n + k] / pivot, n - k - 1);
        stop.add_work((n - k) / 4 + 4);
      }
    }
    return product;
  }

  std::size_t rank_;
};

}  // namespace

std::shared_ptr<const SizedKernel> determinant(DType t, std::size_t rank) {
  std::shared_ptr<const SizedKernel> kernel;
  with_float_type(t,
                  [&](auto zero) { kernel = std::make_shared<Determinant<decltype(zero)>>(rank); });
  return kernel;
}

}  // namespace rondel::kernels
