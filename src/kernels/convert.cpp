#include "kernels/convert.h"

#if defined(__x86_64__)
#include <immintrin.h>
#else  // aarch64
#include <arm_neon.h>
#endif

namespace rondel::kernels {
namespace {

/// Converts elements [i, n), one by one.
template <class From, class To>
void convert_rest(const From* from, std::int64_t i, std::int64_t n, To* to) {
  for (; i < n; ++i) to[i] = static_cast<To>(from[i]);
}

// `widen` and `narrow` convert all whole vectors, and return the number of converted elements.
#if defined(__x86_64__)
constexpr std::int64_t lanes = 8;

[[gnu::target("avx2,f16c")]] std::int64_t widen(const Float16* from, std::int64_t n, float* to) {
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    _mm256_storeu_ps(to + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  return i;
}
[[gnu::target("avx2,f16c")]] std::int64_t narrow(const float* from, std::int64_t n, Float16* to) {
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}

bool has_instructions() { return vectors() != Vectors::plain; }
#else  // aarch64
constexpr std::int64_t lanes = 4;

std::int64_t widen(const Float16* from, std::int64_t n, float* to) {
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    vst1q_f32(to + i, vcvt_f32_f16(vld1_f16(reinterpret_cast<const float16_t*>(from + i))));
  return i;
}
std::int64_t narrow(const float* from, std::int64_t n, Float16* to) {
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    vst1_f16(reinterpret_cast<float16_t*>(to + i), vcvt_f16_f32(vld1q_f32(from + i)));
  return i;
}

bool has_instructions() { return true; }
#endif

}  // namespace

void convert(const Float16* from, std::int64_t n, float* to) {
  convert_rest(from, has_instructions() ? widen(from, n, to) : 0, n, to);
}

void convert(const float* from, std::int64_t n, Float16* to) {
  convert_rest(from, has_instructions() ? narrow(from, n, to) : 0, n, to);
}

}  // namespace rondel::kernels
