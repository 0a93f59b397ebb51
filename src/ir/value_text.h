#pragma once
#include "ir/attributes.h"

#include <string>
#include <string_view>

/// Prints names, numbers, tensors and attributes; `Cursor` (cursor.h) parses the same forms.
namespace rondel::ir {

/// The text in double quotes, with quotes, backslashes and control characters escaped.
std::string quoted(std::string_view);

/// Whether the text is a word: letters, digits, `_`, and after the first character also those in
/// `more`.
bool is_word(std::string_view, std::string_view more = "");

/// The text itself if it is a word, else quoted.
std::string word_or_quoted(std::string_view);

/// Characters, besides letters, digits and `_`, that are not quoted in the name of a value and in a
/// symbol.
inline constexpr std::string_view name_marks = "./-";
inline constexpr std::string_view symbol_marks = ".";

/// "f32[2] {1, 2}"; elements are elided as `...` if there are more than `most` (-1: never).
std::string tensor_text(const Tensor&, std::int64_t most);

/// Integers, numbers (always with a point, an exponent, `inf` or `nan`), "strings", lists in
/// brackets (`ints[]`, `floats[]`, `strings[]` if empty), tensors, `type f32[2]`.
std::string attribute_text(const Attribute&, std::int64_t most);

/// Whether the texts of the attributes identify them: a tensor's may be cut short.
bool text_identifies(const Attributes&);

}  // namespace rondel::ir
