#include "kernels/top_k.h"

#include "base/axis.h"
#include "kernels/looks.h"
#include "kernels/narrow_floats.h"

#include <algorithm>

namespace rondel::kernels {
namespace {

template <class T> bool less(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a < b;
  } else {
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const auto x = static_cast<Wide>(a), y = static_cast<Wide>(b);
    return x < y || (y != y && x == x);
  }
}

template <class T>
void row(Looks& looks, const T* x, std::int64_t n, std::int64_t step, std::int64_t k, bool largest,
         std::int64_t* order, T* values, std::int64_t* indices) {
  for (std::int64_t i = 0; i < n; ++i) {
    order[i] = i;
    looks.did(1);
  }
  const auto before = [&](std::int64_t i, std::int64_t j) {
    looks.did(4);
    const T a = x[i * step], b = x[j * step];
    if (largest ? less(b, a) : less(a, b)) return true;
    if (largest ? less(a, b) : less(b, a)) return false;
    return i < j;
  };
  std::partial_sort(order, order + k, order + n, before);
  for (std::int64_t i = 0; i < k; ++i) {
    looks.did(4);
    indices[i * step] = order[i];
    values[i * step] = x[order[i] * step];
  }
}

template <class T> void top_k_as(KernelCall& call, const TopK& spec) {
  const Tensor x = packed_with_looks(call, 0);
  const std::int64_t k = *call.tensor(1).data_as<std::int64_t>();
  const auto axis = static_cast<std::size_t>(axis_from_front(spec.axis, x.rank()));
  Shape shape = x.shape();
  const std::int64_t n = shape[axis];
  shape[axis] = k;
  const Tensor values = call.make(0, x.dtype(), shape), indices = call.make(1, DType::i64, shape);
  const auto after = shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1;
  const std::int64_t inner = element_count(Shape(after, shape.end()));
  const std::int64_t outer = element_count(Shape(shape.begin(), after - 1));
  const Tensor order = call.scratch(DType::i64, {n});
  Looks looks(call);
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i)
      row(looks, x.data_as<T>() + o * n * inner + i, n, inner, k, spec.largest,
          order.data_as<std::int64_t>(), values.data_as<T>() + o * k * inner + i,
          indices.data_as<std::int64_t>() + o * k * inner + i);
}

}  // namespace

void top_k(KernelCall& call, const TopK& spec) {
  with_number_type(call.tensor(0).dtype(),
                   [&](auto zero) { top_k_as<decltype(zero)>(call, spec); });
}

}  // namespace rondel::kernels
