#include "kernels/vectors.h"

namespace rondel::kernels {

Vectors vectors() {
#if defined(__x86_64__)
  static const Vectors widest = [] {
    const auto all = [](auto... has) { return (has && ...); };
    if (all(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512bw"),
            __builtin_cpu_supports("avx512dq"), __builtin_cpu_supports("avx512vl")))
      return Vectors::avx512;
    if (all(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"),
            __builtin_cpu_supports("f16c")))
      return Vectors::avx2;
    return Vectors::plain;
  }();
  return widest;
#else
  return Vectors::plain;
#endif
}

bool has_byte_products() {
#if defined(__x86_64__)
  static const bool has = vectors() == Vectors::avx512 && __builtin_cpu_supports("avx512vnni");
  return has;
#else
  return false;
#endif
}

}  // namespace rondel::kernels
