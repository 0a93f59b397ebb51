#include "frontends/deepx/lexer.h"

#include "frontends/deepx/scalars.h"

#include <algorithm>

namespace rondel::deepx {
namespace {

constexpr std::string_view marks = "()[]{}<>,:|@";

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

/// The length of the UTF-8 character that the text begins with; 0 where it begins with none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t k = 1; k < length; ++k)
    if (byte(k) < 0x80 || byte(k) > 0xbf) return 0;
  // Overlong forms, surrogates, and what lies beyond Unicode.
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) > 0x9f;
  const bool beyond = first == 0xf4 && byte(1) > 0x8f;
  return overlong || surrogate || beyond ? 0 : length;
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
