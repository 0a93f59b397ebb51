#pragma once
#include "frontends/deepx/statement.h"

#include <optional>
#include <string_view>

namespace rondel::deepx {

/// Reads a text statement by statement, so that what stands before a mistake can be used.
class Parser {
 public:
  /// The text must outlive the parser. A byte order mark before it is no part of it.
  explicit Parser(std::string_view text);

  /// The next statement; nothing at the end. Throws Error(caller), at a line and column, for what
  /// is none; the next call goes on behind it: behind the line, or behind the block that it is in.
  std::optional<Statement> next();
  /// Whether no statement can follow.
  bool is_at_end() const;
  /// The number of the line that the last statement, or the last mistake, begins with.
  std::size_t line() const { return line_; }
  /// The `key=value` pairs behind `//` of that line, even where it is a mistake.
  const Metadata& metadata() const { return metadata_; }

 private:
  std::optional<std::string_view> take_line();
  /// `head`: where the block around begins.
  std::optional<Statement> statement(std::size_t depth, const Position& head);
  void fill_block(Statement&, std::size_t depth);
  void skip_block();

  std::string_view rest_;
  std::size_t next_line_ = 1;
  std::size_t line_ = 0;
  Metadata metadata_;
};

/// Whether a text ends inside of a block, so that more lines must follow.
bool has_open_block(std::string_view text);

}  // namespace rondel::deepx
