// What Debian's static libraries of LLVM take from a glibc that is newer than the rest needs: with
// this file in it, the library of the wheel gets the tag manylinux_2_35 (Ubuntu 22.04) instead of
// manylinux_2_36.
#include <sys/random.h>

#include <cstdint>

/// A random number from the system, as in glibc 2.36. LLVM names temporary files with it.
extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {}
  return number;
}
