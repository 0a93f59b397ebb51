#pragma once
#include "frontends/deepx/statement.h"

#include <string_view>
#include <vector>

namespace rondel::deepx {

struct Token {
  enum class Kind : std::uint8_t { word, string, mark, arrow, back_arrow, end };
  Kind kind = Kind::end;
  std::string_view text;  ///< of a string without its quotes
  Position at;
};

/// A line in tokens; the last is an `end`. What stands behind `//` is apart.
struct Line {
  std::vector<Token> tokens;
  std::string_view comment;
  bool has_comment = false;
};

/// Reads one line, without its line break. Throws Error(caller) at the place of a byte that is no
/// UTF-8 and of a string without an end.
Line read_line(std::string_view text, std::size_t line);

/// Whether a text is a word that may stand for a value: not a number.
bool is_name(std::string_view);

}  // namespace rondel::deepx
