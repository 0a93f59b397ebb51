#pragma once
#include <cstdint>
#include <type_traits>

/// Vectors of 64 bytes of elements of T, in whatever registers the processor has: for code below
/// `with_vectors` (vectors.h).
namespace rondel::kernels {

template <class T> struct Lanes {
  static constexpr std::int64_t count = 64 / sizeof(T);
  typedef T Vector __attribute__((vector_size(64)));
  typedef std::conditional_t<
      sizeof(T) == 1, std::int8_t,
      std::conditional_t<sizeof(T) == 2, std::int16_t,
                         std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>>
      Integer;
  /// What comparing gives, and shuffling takes.
  typedef Integer Mask __attribute__((vector_size(64)));
  typedef T Unaligned __attribute__((vector_size(64), aligned(alignof(T)), may_alias));
};

template <class T>
[[gnu::always_inline]] inline const typename Lanes<T>::Unaligned& load(const T* x) {
  return *reinterpret_cast<const typename Lanes<T>::Unaligned*>(x);
}
template <class T>
[[gnu::always_inline]] inline void store(T* to, const typename Lanes<T>::Vector& v) {
  *reinterpret_cast<typename Lanes<T>::Unaligned*>(to) = v;
}

}  // namespace rondel::kernels
