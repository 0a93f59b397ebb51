#pragma once
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace rondel {

/// How a thread rounds, whether it takes subnormal numbers for zero, and which exceptions raise
/// signals: what the control register for floating-point numbers says.
class Arithmetic {
 public:
  /// Rounds to nearest even, keeps subnormal numbers, raises no signals.
  static Arithmetic standard() { return Arithmetic(standard_word); }
  /// The same, but subnormal operands and results are zero. (They take many times as long as other
  /// numbers.)
  static Arithmetic with_denormals_as_zero() {
    return Arithmetic(standard_word | denormals_are_zero);
  }
  static Arithmetic of_thread() { return Arithmetic(get()); }
  void set() const { set(word_); }
  bool operator==(const Arithmetic& o) const { return ((word_ ^ o.word_) & ~occurred) == 0; }

 private:
#if defined(__x86_64__)
  using Word = std::uint32_t;
  static constexpr Word standard_word = 0x1f80;                ///< MXCSR: all exceptions masked
  static constexpr Word denormals_are_zero = 0x8000 | 0x0040;  ///< results, operands
  static constexpr Word occurred = 0x3f;                       ///< which exceptions there were
  static Word get() { return _mm_getcsr(); }
  static void set(Word w) { _mm_setcsr(w); }
#elif defined(__aarch64__)
  using Word = std::uint64_t;
  static constexpr Word standard_word = 0;  ///< FPCR
  static constexpr Word denormals_are_zero = Word{1} << 24;
  static constexpr Word occurred = 0;
  static Word get() {
    Word w = 0;
    asm volatile("mrs %0, fpcr" : "=r"(w));
    return w;
  }
  static void set(Word w) { asm volatile("msr fpcr, %0" : : "r"(w)); }
#endif
  explicit Arithmetic(Word w) : word_(w) {}

  Word word_;
};

/// While the scope lasts, the arithmetic of this thread is this one, whatever the program around
/// has set: one that is linked with -ffast-math begins with subnormal numbers flushed to zero.
class ArithmeticScope {
 public:
  explicit ArithmeticScope(Arithmetic a)
      : before_(Arithmetic::of_thread()), changes_(a != before_) {
    if (changes_) a.set();
  }
  ~ArithmeticScope() {
    if (changes_) before_.set();
  }
  ArithmeticScope(const ArithmeticScope&) = delete;
  ArithmeticScope& operator=(const ArithmeticScope&) = delete;

 private:
  Arithmetic before_;
  bool changes_;
};

}  // namespace rondel
