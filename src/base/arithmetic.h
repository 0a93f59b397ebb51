#pragma once
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace rondel {

/// While the scope lasts, floating-point arithmetic of this thread rounds to nearest even, keeps
/// subnormal numbers and raises no signals, whatever the program around has set: one that is linked
/// with -ffast-math begins with subnormal numbers flushed to zero.
class StandardArithmetic {
 public:
  StandardArithmetic() : before_(get()) {
    if (!is_standard(before_)) set(standard);
  }
  ~StandardArithmetic() {
    if (!is_standard(before_)) set(before_);
  }
  StandardArithmetic(const StandardArithmetic&) = delete;
  StandardArithmetic& operator=(const StandardArithmetic&) = delete;

 private:
#if defined(__x86_64__)
  using Word = std::uint32_t;
  static constexpr Word standard = 0x1f80;  ///< MXCSR: all exceptions masked
  static constexpr Word flags = 0x3f;       ///< which exceptions have occurred
  static Word get() { return _mm_getcsr(); }
  static void set(Word w) { _mm_setcsr(w); }
#elif defined(__aarch64__)
  using Word = std::uint64_t;
  static constexpr Word standard = 0;  ///< FPCR
  static constexpr Word flags = 0;
  static Word get() {
    Word w = 0;
    asm volatile("mrs %0, fpcr" : "=r"(w));
    return w;
  }
  static void set(Word w) { asm volatile("msr fpcr, %0" : : "r"(w)); }
#endif
  static bool is_standard(Word w) { return (w & ~flags) == standard; }

  Word before_;
};

}  // namespace rondel
