#pragma once
#include "base/error.h"
#include "ir/attributes.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace rondel::ir {

/// A position in a text, with functions that parse the forms that value_text.h prints. Blanks and
/// comments (`//` to the end of the line) may stand between any two forms. Unexpected text is the
/// caller's error and names line and column.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  /// The position, after skipping blanks and comments.
  std::size_t at();
  /// Back to an earlier position.
  void rewind(std::size_t at) { at_ = at; }
  /// The next character after blanks and comments; 0 at the end.
  char peek();
  /// Skips the character and returns true if it comes next.
  bool accept(char);
  /// The same for a word, or for another run of characters such as "...".
  bool accept(std::string_view);
  void expect(char);
  void expect_word(std::string_view);
  /// Whether a word (or quoted string) and then `=` come next: an attribute.
  bool before_assignment();

  /// Letters, digits, `_` and, after the first character, those in `more`. Errors call it `what`.
  std::string word(std::string_view what, std::string_view more = "");
  std::string word_or_string(std::string_view what, std::string_view more = "");
  std::string string();
  std::int64_t integer();
  Type type();
  Attribute attribute();
  /// A tensor, or `undefined`.
  Tensor tensor();

  /// The text of the comment `// from "..."` at the end of the line just read; "" if there is none.
  std::string source();
  void forget_source() { source_.clear(); }

  template <class... Args>
  [[noreturn]] void fail(std::size_t at, fmt::format_string<Args...> text, Args&&... args) const {
    throw_error(Blame::caller, position(at) + fmt::format(text, std::forward<Args>(args)...));
  }
  /// "expected WHAT, found ..." here.
  [[noreturn]] void fail_expected(std::string_view what);

 private:
  void skip();
  void comment(bool same_line);
  std::string position(std::size_t at) const;
  /// A run of letters, digits, `_`, `.`, `+` and `-`.
  std::string_view token();
  Type type(int depth);
  Type map_type();
  DType dtype();
  Extents extents();
  /// An integer as `to_text(Integer)` prints it: sums, products, quotients, `max`, `min`.
  Integer sum(int depth);
  Integer product(int depth);
  Integer factor(int depth);
  bool starts_number();
  std::variant<std::int64_t, double> number();
  Attribute list(std::string_view kind);
  void element(DType, std::vector<unsigned char>& bytes);

  std::string_view text_;
  std::size_t at_ = 0;
  std::string source_;
};

}  // namespace rondel::ir
