#pragma once
#include "frontends/deepx/statement.h"

#include <optional>
#include <string_view>
#include <vector>

namespace rondel::deepx {

struct Token {
  enum class Kind : std::uint8_t { word, string, mark, arrow, back_arrow, end };
  Kind kind = Kind::end;
  std::string_view text;  ///< of a string without its quotes
  Position at;
};

/// A line in tokens; the last is an `end`.
struct Line {
  std::vector<Token> tokens;
  bool has_comment = false;
};

/// What stands behind the `//` of a line, whatever else is wrong with it. In quotes, `//` is text.
std::optional<std::string_view> comment_of(std::string_view line);

/// Whether a text is UTF-8 without control characters other than blanks.
bool is_plain_text(std::string_view);

/// Reads one line, without its line break. Throws Error(caller) at the place of a byte that is no
/// UTF-8, of a control character and of a string without an end.
Line read_line(std::string_view text, std::size_t line);

/// Whether a text is a word that may stand for a value: not a number.
bool is_name(std::string_view);

}  // namespace rondel::deepx
