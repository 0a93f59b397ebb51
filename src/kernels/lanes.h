#pragma once
#include <cstdint>
#include <type_traits>

/// Vectors of `bytes` bytes with elements of type T, for code called by `with_vectors` (vectors.h).
/// A vector that is longer than the processor's registers takes several registers. Code that keeps
/// many sums in registers should use vectors of exactly one register: see `with_registers`.
namespace rondel::kernels {

template <class T, int bytes = 64> struct Lanes {
  static constexpr std::int64_t count = bytes / sizeof(T);
  typedef T Vector __attribute__((vector_size(bytes)));
  typedef std::conditional_t<
      sizeof(T) == 1, std::int8_t,
      std::conditional_t<sizeof(T) == 2, std::int16_t,
                         std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>>
      Integer;
  /// The result of a comparison; the indices of a shuffle.
  typedef Integer Mask __attribute__((vector_size(bytes)));
  typedef T Unaligned __attribute__((vector_size(bytes), aligned(alignof(T)), may_alias));
};

template <class T, int bytes = 64>
[[gnu::always_inline]] inline const typename Lanes<T, bytes>::Unaligned& load(const T* x) {
  return *reinterpret_cast<const typename Lanes<T, bytes>::Unaligned*>(x);
}
template <class T, int bytes = 64>
[[gnu::always_inline]] inline void store(T* to, const typename Lanes<T, bytes>::Vector& v) {
  *reinterpret_cast<typename Lanes<T, bytes>::Unaligned*>(to) = v;
}

}  // namespace rondel::kernels
