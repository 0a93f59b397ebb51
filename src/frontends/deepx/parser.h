#pragma once
#include "frontends/deepx/statement.h"

#include <optional>
#include <string_view>

namespace rondel::deepx {

/// Parses a text statement by statement, so that the statements before a syntax error can be used.
class Parser {
 public:
  /// The text must outlive the parser. A leading byte order mark is skipped.
  explicit Parser(std::string_view text);

  /// The next statement; nothing at the end. Throws Error(caller), with a position, for a syntax
  /// error. The next call continues after the faulty line, or after the outermost block that
  /// contains it.
  std::optional<Statement> next();
  /// Whether only blanks are left.
  bool is_at_end() const;
  /// The first line of the last statement or of the last faulty statement.
  std::size_t line() const { return line_; }
  /// The `key=value` pairs after the `//` of `line()`, even if the line has a syntax error.
  const Metadata& metadata() const { return metadata_; }

 private:
  std::optional<std::string_view> take_line();
  /// `head`: the position of the enclosing block.
  std::optional<Statement> statement(std::size_t depth, const Position& head);
  void fill_block(Statement&, std::size_t depth);
  void skip_block();

  std::string_view rest_;
  std::size_t next_line_ = 1;
  std::size_t line_ = 0;
  Metadata metadata_;
};

/// Whether a text ends inside a block, so that more lines must follow.
bool has_open_block(std::string_view text);

}  // namespace rondel::deepx
