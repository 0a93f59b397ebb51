#pragma once
#include <cstdint>
#include <type_traits>

/// Vectors of some bytes of elements of T, for code below `with_vectors` (vectors.h). Those of 64
/// bytes are several registers where the processor has none so long. Many sums that are to stay in
/// registers need vectors as long as a register: `with_registers`.
namespace rondel::kernels {

template <class T, int bytes = 64> struct Lanes {
  static constexpr std::int64_t count = bytes / sizeof(T);
  typedef T Vector __attribute__((vector_size(bytes)));
  typedef std::conditional_t<
      sizeof(T) == 1, std::int8_t,
      std::conditional_t<sizeof(T) == 2, std::int16_t,
                         std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>>
      Integer;
  /// What comparing gives, and shuffling takes.
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
