#pragma once
#include <cstdint>

/// Sixteen floats at a time, in whatever registers the processor has (see `with_vectors`). For
/// files that are compiled with products and sums fused (CMakeLists.txt of src/).
namespace rondel::kernels {

constexpr std::int64_t lanes = 16;
using FloatVector [[gnu::vector_size(lanes * sizeof(float))]] = float;

namespace detail {
using Unaligned
    [[gnu::vector_size(lanes * sizeof(float)), gnu::aligned(4), gnu::may_alias]] = float;
}

[[gnu::always_inline]] inline const detail::Unaligned& load(const float* from) {
  return *reinterpret_cast<const detail::Unaligned*>(from);
}
[[gnu::always_inline]] inline void store(float* to, const FloatVector& v) {
  *reinterpret_cast<detail::Unaligned*>(to) = v;
}

}  // namespace rondel::kernels
