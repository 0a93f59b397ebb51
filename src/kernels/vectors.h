#pragma once
#include <type_traits>

namespace rondel::kernels {

/// How wide the vectors are that this processor has: 16 floats, 8, or what the compiler takes for
/// granted.
enum class Vectors { plain, avx2, avx512 };
Vectors vectors();

#if defined(__x86_64__)
namespace detail {
template <class F> [[gnu::target("avx2,fma"), gnu::flatten]] void run_avx2(F f) { f(); }
template <class F>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"), gnu::flatten]] void run_avx512(F f) {
  f();
}
}  // namespace detail
#endif

/// f(), compiled for the vectors this processor has. All that it calls becomes part of it, so it is
/// for small inner loops. The results are the same whatever the processor. What f holds by value it
/// can keep in registers.
template <class F> void with_vectors(F f) {
#if defined(__x86_64__)
  switch (vectors()) {
    case Vectors::avx512: return detail::run_avx512(f);
    case Vectors::avx2: return detail::run_avx2(f);
    case Vectors::plain: break;
  }
#endif
  f();
}

/// Bytes of a register: what `with_registers` tells.
template <int bytes> using RegisterBytes = std::integral_constant<int, bytes>;

/// f(RegisterBytes), compiled as by `with_vectors`: for loops that keep as many sums as there are
/// registers.
template <class F> void with_registers(F f) {
#if defined(__x86_64__)
  switch (vectors()) {
    case Vectors::avx512: return detail::run_avx512([=] { f(RegisterBytes<64>()); });
    case Vectors::avx2: return detail::run_avx2([=] { f(RegisterBytes<32>()); });
    case Vectors::plain: break;
  }
#endif
  f(RegisterBytes<16>());
}

/// f(), where vectors() is avx512.
template <class F> void with_avx512(F f) {
#if defined(__x86_64__)
  detail::run_avx512(f);
#else
  f();
#endif
}

}  // namespace rondel::kernels
