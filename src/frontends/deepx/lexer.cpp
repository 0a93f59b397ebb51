#include "frontends/deepx/lexer.h"

#include "base/utf8.h"
#include "frontends/deepx/scalars.h"

#include <algorithm>

namespace rondel::deepx {
namespace {

constexpr std::string_view marks = "()[]{}<>,:|@";

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

/// What only a word holds, and most of what it holds.
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_';
}

class Lexer {
 public:
  Lexer(std::string_view text, std::size_t line) : text_(text), at_{line, 1} {}

  Line read() {
    Line line;
    while (!is_done()) {
      if (is_blank(text_[here_])) {
        step();
      } else if (rest().starts_with("//")) {
        const std::size_t from = here_ + 2;
        while (!is_done()) step();
        line.comment = text_.substr(from);
        line.has_comment = true;
      } else {
        line.tokens.push_back(token());
      }
    }
    line.tokens.push_back({Token::Kind::end, {}, at_});
    return line;
  }

 private:
  bool is_done() const { return here_ == text_.size(); }
  std::string_view rest() const { return text_.substr(here_); }

  /// To the next character.
  void step() {
    if (static_cast<unsigned char>(text_[here_]) < 0x80) {
      ++here_;
      ++at_.column;
      return;
    }
    const std::size_t length = character_length(rest());
    if (length == 0)
      fail_at_position(at_, "byte 0x{:02x} is not UTF-8", static_cast<unsigned char>(text_[here_]));
    here_ += length;
    ++at_.column;
  }

  Token token() {
    const Position begin = at_;
    const std::size_t from = here_;
    for (const auto& [text, kind] :
         {std::pair<std::string_view, Token::Kind>{"->", Token::Kind::arrow},
          {"<-", Token::Kind::back_arrow}}) {
      if (!rest().starts_with(text)) continue;
      step();
      step();
      return {kind, text, begin};
    }
    if (text_[here_] == '"') return string();
    if (marks.find(text_[here_]) != std::string_view::npos) {
      step();
      return {Token::Kind::mark, text_.substr(from, 1), begin};
    }
    while (!is_done() && !ends_word()) step();
    return {Token::Kind::word, text_.substr(from, here_ - from), begin};
  }

  bool ends_word() const {
    const char c = text_[here_];
    if (is_plain(c)) return false;
    return is_blank(c) || c == '"' || marks.find(c) != std::string_view::npos ||
           rest().starts_with("->") || rest().starts_with("//");
  }

  Token string() {
    const Position begin = at_;
    step();
    const std::size_t from = here_;
    while (!is_done() && text_[here_] != '"') step();
    if (is_done()) fail_at_position(begin, "the text in quotes has no end");
    const Token made{Token::Kind::string, text_.substr(from, here_ - from), begin};
    step();
    return made;
  }

  std::string_view text_;
  std::size_t here_ = 0;
  Position at_;
};

}  // namespace

Line read_line(std::string_view text, std::size_t line) { return Lexer(text, line).read(); }

bool is_name(std::string_view text) {
  if (text.empty() || is_number(text) || text.find('\n') != std::string_view::npos) return false;
  try {
    const Line line = read_line(text, 1);
    return !line.has_comment && line.tokens.size() == 2 &&
           line.tokens[0].kind == Token::Kind::word && line.tokens[0].text == text;
  } catch (const Error&) { return false; }
}

}  // namespace rondel::deepx
