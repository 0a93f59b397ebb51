#pragma once
#include <type_traits>

namespace rondel::kernels {

/// The vector extensions of this processor: vectors of 16 floats (avx512), of 8 floats (avx2), or
/// only the compiler's baseline (plain).
enum class Vectors { plain, avx2, avx512 };
Vectors vectors();
/// Whether the processor has an instruction that multiplies vectors of bytes and adds the products
/// four by four (AVX512-VNNI). Implies Vectors::avx512.
bool has_byte_products();

#if defined(__x86_64__)
namespace detail {
template <class F> [[gnu::target("avx2,fma"), gnu::flatten]] void run_avx2(F f) { f(); }
template <class F>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"), gnu::flatten]] void run_avx512(F f) {
  f();
}
template <class F>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma"), gnu::flatten]] void
run_byte_products(F f) {
  f();
}
}  // namespace detail
#endif

/// Calls f(), compiled for the vector extensions of this processor. Everything that f calls is
/// inlined, so f should be a small inner loop. Results do not depend on the processor, except in
/// files compiled with -ffp-contract=fast (src/CMakeLists.txt). Variables that f captures by value
/// can stay in registers.
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

/// The size of a vector register in bytes, as a compile-time constant.
template <int bytes> using RegisterBytes = std::integral_constant<int, bytes>;

/// The size that `with_registers` takes.
inline int register_bytes() {
  const Vectors v = vectors();
  return v == Vectors::avx512 ? 64 : v == Vectors::avx2 ? 32 : 16;
}

/// Calls f(RegisterBytes) like `with_vectors`. For loops that keep sums in all registers.
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

/// Calls f(), compiled for AVX-512. Requires vectors() == Vectors::avx512.
template <class F> void with_avx512(F f) {
#if defined(__x86_64__)
  detail::run_avx512(f);
#else
  f();
#endif
}

}  // namespace rondel::kernels
