#pragma once
#include "kernels/narrow_floats.h"
#include "kernels/vectors.h"

namespace rondel::kernels {

/// to[i] = from[i], for n elements.
template <class From, class To> void convert(const From* from, std::int64_t n, To* to) {
  with_vectors([&] {
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]);
  });
}

/// The same for f16 by the processor's conversion instructions, if it has them. The results have
/// the same bits.
void convert(const Float16* from, std::int64_t n, float* to);
void convert(const float* from, std::int64_t n, Float16* to);

}  // namespace rondel::kernels
