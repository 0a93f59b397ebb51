#include "frontends/deepx/lexer.h"

#include "base/utf8.h"
#include "frontends/deepx/scalars.h"

#include <algorithm>

namespace rondel::deepx {
namespace {

constexpr std::string_view marks = "()[]{}<>,:|@";

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

/// Control characters, which are not allowed in a program.
bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && !is_blank(c)) || byte == 0x7f;
}

/// The offset of the `//` of a line, or the line's length if there is none. An unterminated string
/// does not hide it.
std::size_t begin_of_comment(std::string_view line) {
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t quote = line.find('"', at), comment = line.find("//", at);
    if (comment < quote) return comment;
    if (quote == std::string_view::npos) break;
    const std::size_t close = line.find('"', quote + 1);
    if (close == std::string_view::npos) return std::min(comment, line.size());
    at = close + 1;
  }
  return line.size();
}

/// Characters that are always a part of a word: a fast path for the common ones.
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_';
}

class Lexer {
 public:
  Lexer(std::string_view text, std::size_t line)
      : text_(text), end_(begin_of_comment(text)), at_{line, 1} {}

  Line read() {
    Line line;
    while (!is_done()) {
      if (is_blank(text_[here_])) step();
      else line.tokens.push_back(token());
    }
    line.tokens.push_back({Token::Kind::end, {}, at_});
    line.has_comment = end_ < text_.size();
    while (here_ < text_.size()) step();
    return line;
  }

 private:
  bool is_done() const { return here_ == end_; }
  std::string_view rest() const { return text_.substr(here_); }

  /// Advances to the next character.
  void step() {
    if (is_control(text_[here_]))
      fail_at_position(at_, "the control character 0x{:02x} cannot stand in a program",
                       static_cast<unsigned char>(text_[here_]));
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
           rest().starts_with("->");
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
  std::size_t end_;  ///< where the comment begins
  std::size_t here_ = 0;
  Position at_;
};

}  // namespace

std::optional<std::string_view> comment_of(std::string_view line) {
  const std::size_t begin = begin_of_comment(line);
  if (begin == line.size()) return std::nullopt;
  return line.substr(begin + 2);
}

bool is_plain_text(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = is_control(text[at]) ? 0 : character_length(text.substr(at));
    if (length == 0) return false;
    at += length;
  }
  return true;
}

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
