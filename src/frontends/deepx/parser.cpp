#include "frontends/deepx/parser.h"

#include "base/text.h"
#include "frontends/deepx/blocks.h"
#include "frontends/deepx/lexer.h"

#include <algorithm>
#include <array>
#include <exception>

namespace rondel::deepx {
namespace {

/// The maximum nesting of blocks, which bounds the recursion.
constexpr std::size_t most_depth = 64;

constexpr std::array categories{"tensor", "vector", "var", "listtensor"};

/// Parses the statement on one line, or the first line of a block.
class LineParser {
 public:
  explicit LineParser(const Line& line) : tokens_(line.tokens) {}

  Statement parse() {
    Statement s;
    s.at = now().at;
    s.last_line = s.at.line;
    s.name = word("the name of an instruction").text;
    if (take("@")) s.dtype = word("a dtype");
    if (is("(")) {
      s.in_parentheses = true;
      s.inputs = list_in_parentheses();
    } else {
      s.inputs = operands();
    }
    arrow(s);
    if (take("{")) {
      s.is_block = true;
      if (!is_block_name(s.name))
        fail_at_position(s.at, "there is no block '{}'; blocks begin with: {}", s.name,
                         join(block_rows(), " or ", [](const BlockRow& r) { return r.usage; }));
    }
    if (now().kind != Token::Kind::end) unexpected();
    return s;
  }

 private:
  const Token& now() const { return tokens_[here_]; }
  bool is(std::string_view mark) const {
    return now().kind == Token::Kind::mark && now().text == mark;
  }
  bool take(std::string_view mark) {
    const bool found = is(mark);
    if (found) ++here_;
    return found;
  }
  void expect(std::string_view mark) {
    if (!take(mark)) fail_at_position(now().at, "expected '{}', not {}", mark, shown());
  }
  std::string shown() const {
    return now().kind == Token::Kind::end ? "the end of the line" : fmt::format("'{}'", now().text);
  }
  Word word(std::string_view what) {
    if (now().kind != Token::Kind::word)
      fail_at_position(now().at, "expected {}, not {}", what, shown());
    const Token& t = tokens_[here_++];
    return {std::string(t.text), t.at};
  }
  [[noreturn]] void unexpected() const {
    if (is(">"))
      fail_at_position(now().at, "'>' alone is no arrow; write '->', as in arange@int32 a1 a2->t1");
    fail_at_position(now().at, "unexpected {}", shown());
  }

  void arrow(Statement& s) {
    if (now().kind == Token::Kind::arrow) s.arrow = Arrow::forward;
    else if (now().kind == Token::Kind::back_arrow) s.arrow = Arrow::backward;
    else return;
    ++here_;
    s.outputs = is("(") ? list_in_parentheses() : operands();
  }

  /// Operands separated by blanks; a comma after an operand is optional.
  std::vector<Operand> operands() {
    std::vector<Operand> found;
    while (begins_operand()) {
      found.push_back(operand());
      take(",");
    }
    return found;
  }
  bool begins_operand() const {
    return now().kind == Token::Kind::word || now().kind == Token::Kind::string || is("[");
  }

  std::vector<Operand> list_in_parentheses() {
    expect("(");
    std::vector<Operand> found;
    while (!is(")")) {
      if (!begins_operand())
        fail_at_position(now().at, "expected an operand or ')', not {}", shown());
      found.push_back(operand());
      if (!is(")")) expect(",");
    }
    expect(")");
    return found;
  }

  Operand operand() {
    Operand o;
    o.at = now().at;
    if (now().kind == Token::Kind::word && is_category()) {
      o.category = tokens_[here_++].text;
      if (take("<")) {
        do o.dtypes.push_back(word("a dtype"));
        while (take("|"));
        expect(">");
      }
      expect(":");
    }
    value(o);
    return o;
  }
  /// Whether the current word is a category: it is followed by `<` or `:`.
  bool is_category() const {
    const Token& after = tokens_[here_ + 1];
    if (after.kind != Token::Kind::mark || (after.text != "<" && after.text != ":")) return false;
    if (std::ranges::find(categories, now().text) == categories.end())
      fail_at_position(now().at, "there is no category '{}'; expected one of {}", now().text,
                       join(categories));
    return true;
  }

  void value(Operand& o) {
    if (is("[")) return items(o);
    o.quoted = now().kind == Token::Kind::string;
    if (!o.quoted) o.text = word("a name or a number").text;
    else o.text = tokens_[here_++].text;
    if (o.quoted || !is("(")) return;
    ++here_;
    o.gradient = now().kind == Token::Kind::word ? word("the name of a gradient")
                                                 : Word{"", now().at};
    expect(")");
  }

  void items(Operand& o) {
    expect("[");
    o.items.emplace();
    while (!is("]")) {
      o.items->push_back(word("a name, a number or ']'"));
      take(",");
    }
    expect("]");
  }

  const std::vector<Token>& tokens_;
  std::size_t here_ = 0;
};

/// The `key=value` pairs of a line, which may have syntax errors. Pairs that are not plain text are
/// skipped.
Metadata metadata_of(std::string_view line) {
  constexpr std::string_view blanks = " \t\r\v\f";
  Metadata found;
  std::string_view rest = comment_of(line).value_or("");
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
    if (rest.empty()) return found;
    const std::string_view pair = rest.substr(0, rest.find_first_of(blanks));
    rest.remove_prefix(pair.size());
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0 || !is_plain_text(pair)) continue;
    found.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
  }
}

bool is_end_of_block(const Line& line) {
  return line.tokens[0].kind == Token::Kind::mark && line.tokens[0].text == "}";
}

bool names_block(const Line& line) {
  return line.tokens[0].kind == Token::Kind::word && is_block_name(line.tokens[0].text);
}

/// A stray '{' at the end of another line does not begin a block, so that the error is limited to
/// its line.
bool begins_block(const Line& line) {
  const Token& last = line.tokens[line.tokens.size() - 2];
  return names_block(line) && last.kind == Token::Kind::mark && last.text == "{";
}

/// By how much a line changes the number of open blocks; 0 if it has a syntax error.
int depth_change(std::string_view text) {
  try {
    const Line line = read_line(text, 1);
    return is_end_of_block(line) ? -1 : begins_block(line) ? 1 : 0;
  } catch (const Error&) { return 0; }
}

}  // namespace

Parser::Parser(std::string_view text) : rest_(text) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  if (rest_.starts_with(mark)) rest_.remove_prefix(mark.size());
}

std::optional<std::string_view> Parser::take_line() {
  if (rest_.empty()) return std::nullopt;
  const std::size_t end = rest_.find('\n');
  const std::string_view line = rest_.substr(0, end);
  rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
  ++next_line_;
  return line;
}

bool Parser::is_at_end() const { return rest_.find_first_not_of(" \t\r\n") == rest_.npos; }

std::optional<Statement> Parser::next() { return statement(0, {}); }

std::optional<Statement> Parser::statement(std::size_t depth, const Position& head) {
  while (const std::optional<std::string_view> text = take_line()) {
    const std::size_t number = next_line_ - 1;
    Metadata metadata = metadata_of(*text);
    if (depth == 0) {
      line_ = number;
      metadata_ = metadata;
    }
    const Line line = read_line(*text, number);
    if (line.tokens.size() == 1) continue;
    if (is_end_of_block(line)) {
      if (line.tokens.size() > 2)
        fail_at_position(line.tokens[1].at, "nothing may follow '}}' on its line");
      if (depth == 0) fail_at_position(line.tokens[0].at, "'}}' without a block that it ends");
      return std::nullopt;
    }
    if (names_block(line) && !begins_block(line))
      fail_at_position(
          line.tokens[0].at,
          "the line of a '{}' ends with '{{'; the lines of the block follow, then '}}'",
          line.tokens[0].text);
    Statement s;
    std::exception_ptr mistake;
    try {
      s = LineParser(line).parse();
    } catch (const Error&) { mistake = std::current_exception(); }
    s.metadata = std::move(metadata);
    if (begins_block(line)) {
      s.at = line.tokens[0].at;
      if (depth == most_depth) {
        skip_block();
        fail_at_position(s.at, "more than {} nested blocks", most_depth);
      }
      fill_block(s, depth + 1);
    }
    if (mistake) std::rethrow_exception(mistake);
    return s;
  }
  if (depth > 0) fail_at_position(head, "the block has no end; '}}' ends it");
  return std::nullopt;
}

/// Always reads to the end of the block, so that the lines after a syntax error are not taken for
/// lines outside the block. Reports the first error.
void Parser::fill_block(Statement& block, std::size_t depth) {
  std::exception_ptr mistake;
  while (true) {
    const bool was_empty = rest_.empty();
    try {
      std::optional<Statement> s = statement(depth, block.at);
      if (!s) break;
      block.body.push_back(std::move(*s));
    } catch (const Error&) {
      if (!mistake) mistake = std::current_exception();
      if (was_empty) break;
    }
  }
  block.last_line = next_line_ - 1;
  if (mistake) std::rethrow_exception(mistake);
}

void Parser::skip_block() {
  int depth = 1;
  while (depth > 0) {
    const std::optional<std::string_view> text = take_line();
    if (!text) return;
    depth += depth_change(*text);
  }
}

bool has_open_block(std::string_view text) {
  int depth = 0;
  for (const std::string& line : split(text, '\n')) depth = std::max(0, depth + depth_change(line));
  return depth > 0;
}

}  // namespace rondel::deepx
