#pragma once
#include "frontends/deepx/statement.h"

#include <optional>
#include <string_view>
#include <vector>

namespace rondel::deepx {

struct Token {
  enum class Kind : std::uint8_t { word, string, mark, arrow, back_arrow, end };
  Kind kind = Kind::end;
  std::string_view text;  ///< without the quotes of a string
  Position at;
};

/// The tokens of a line; the last token is an `end`.
struct Line {
  std::vector<Token> tokens;
  bool has_comment = false;
};

/// The text after the `//` of a line, even if the line has errors. Inside quotes, `//` is text.
std::optional<std::string_view> comment_of(std::string_view line);

/// Whether a text is UTF-8 and its only control characters are blanks.
bool is_plain_text(std::string_view);

/// Splits a line (without its line break) into tokens. Throws Error(caller), with a position, for
/// invalid UTF-8, a control character and an unterminated string.
Line read_line(std::string_view text, std::size_t line);

/// Whether a text can be the name of a value: a single word that is not a number.
bool is_name(std::string_view);

}  // namespace rondel::deepx
