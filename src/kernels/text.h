#pragma once
#include "kernels/unsized_kernel.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rondel::kernels {

/// Output 0: the parts of each string of the input, along a new last axis; empty strings fill the
/// lists that are shorter than the longest. Output 1, if wanted: the number of parts (i64). Parts
/// are separated by `delimiter`; if that is empty, by runs of white space (ASCII), which are also
/// removed at both ends. After `most` separations (negative: no limit) the rest is one part.
void split_strings(UnsizedCall&, const std::string& delimiter, std::int64_t most);

enum class Case { kept, lower, upper };
/// `text` (UTF-8) in another case, letter by letter as Unicode maps them. Bytes that are no UTF-8
/// stay as they are.
std::string in_case(std::string_view text, Case);

struct NormalizedStrings {
  Case change = Case::kept;
  bool case_sensitive = false;  ///< how strings are compared with the stop words
  std::vector<std::string> stopwords;
};
/// The strings of x, [n] or [1, n], that are no stop words, in another case; one empty string if
/// none is left.
void normalize_strings(UnsizedCall&, const NormalizedStrings&);

}  // namespace rondel::kernels
