#pragma once
#include "kernels/unsized_kernel.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rondel::kernels {

/// How texts are cut into tokens: into characters; between what `separators` match, each applied to
/// what the one before it left; or into what `expression` matches. Regular expressions in RE2's
/// syntax. Tokens with fewer than `least` characters are dropped.
struct Tokens {
  bool characters = false;
  std::vector<std::string> separators;
  std::string expression;
  std::int64_t least = 1;
  bool mark = false;  ///< U+0002 before the tokens of a text and U+0003 after them
  std::string pad;
};

/// A kernel whose output has the tokens of each text of x ([n] or [n, m], UTF-8) along a new last
/// axis, filled with `pad`; the axis is empty if no text has a token. Throws Error(caller) for an
/// expression that RE2 does not take; the kernel does for text that is not UTF-8.
UnsizedKernel tokens_of(const Tokens&);

}  // namespace rondel::kernels
