#pragma once
#include "ir/attributes.h"

#include <string>
#include <string_view>

/// How names, numbers, tensors and attributes are written; `cursor.h` reads the same forms.
namespace rondel::ir {

/// In double quotes; quotes, backslashes and control characters escaped.
std::string quoted(std::string_view);

/// Letters, digits, `_`, and after the first also those of `more`.
bool is_word(std::string_view, std::string_view more = "");

/// The text itself when it is a word, else quoted.
std::string word_or_quoted(std::string_view);

/// What may stand unquoted in a value's name and in a symbol, besides letters, digits and `_`.
inline constexpr std::string_view name_marks = "./-";
inline constexpr std::string_view symbol_marks = ".";

/// "f32[2] {1, 2}"; elements elided as `...` when there are more than `most` (-1: never).
std::string tensor_text(const Tensor&, std::int64_t most);

/// Integers, numbers (always with a point, an exponent, `inf` or `nan`), "strings", lists in
/// brackets (`ints[]`, `floats[]`, `strings[]` when empty), tensors, `type f32[2]`.
std::string attribute_text(const Attribute&, std::int64_t most);

}  // namespace rondel::ir
