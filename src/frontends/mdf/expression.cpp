#include "frontends/mdf/expression.h"

#include "base/error.h"
#include "base/utf8.h"
#include "frontends/mdf/number.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace rondel::mdf {
namespace {

/// The maximum nesting of brackets, and the maximum length of a chain of operators.
constexpr int most_brackets = 200;
constexpr std::size_t most_chained = 1000;

enum class TokenKind : std::uint8_t { number, name, sign, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;
  std::size_t column = 1;
};

/// Blanks, punctuation and symbols beyond ASCII, which are not allowed in Python's names either.
bool is_sign_beyond_ascii(std::string_view c) {
  using namespace std::string_view_literals;
  const bool latin = c >= "\u00a0"sv && c <= "\u00bf"sv && c != "\u00aa"sv && c != "\u00b5"sv &&
                     c != "\u00b7"sv && c != "\u00ba"sv;
  const bool punctuation = c >= "\u2000"sv && c <= "\u206f"sv;
  const bool arrows_and_mathematics = c >= "\u2190"sv && c <= "\u2bff"sv;
  return latin || punctuation || arrows_and_mathematics || c == "\u00d7"sv || c == "\u00f7"sv ||
         (c >= "\u3000"sv && c <= "\u3004"sv);
}

/// The first UTF-8 character of a text. An invalid byte counts as a character.
std::string_view first_character(std::string_view text) {
  return text.substr(0, std::max<std::size_t>(1, character_length(text)));
}

bool begins_name(std::string_view c) {
  if (c.size() > 1) return !is_sign_beyond_ascii(c);
  return std::isalpha(static_cast<unsigned char>(c[0])) != 0 || c == "_";
}

/// The length of the name (or the rest of a name) at the beginning of a text.
std::size_t name_length(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size()) {
    const std::string_view c = first_character(text.substr(n));
    if (!begins_name(c) && !is_digit(c[0])) break;
    n += c.size();
  }
  return n;
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(first_character(text).size());
  return count;
}

/// The length of the number at the beginning of `text`: digits, a point, an exponent; or a base and
/// all letters and digits after it.
std::size_t number_length(std::string_view text) {
  if (has_base(text)) return 1 + name_length(text.substr(1));
  std::size_t n = 0;
  const auto digits = [&] {
    while (n < text.size() && (is_digit(text[n]) || text[n] == '_')) ++n;
  };
  digits();
  if (n < text.size() && text[n] == '.') {
    ++n;
    digits();
  }
  if (n < text.size() && (text[n] == 'e' || text[n] == 'E')) {
    std::size_t exponent = n + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    if (exponent < text.size() && is_digit(text[exponent])) {
      n = exponent;
      digits();
    }
  }
  return n;
}

class Tokens {
 public:
  explicit Tokens(std::string_view text) {
    std::size_t column = 1;
    for (std::size_t at = 0; at < text.size();) {
      if (std::isspace(static_cast<unsigned char>(text[at]))) {
        ++at;
        ++column;
        continue;
      }
      Token t = next(text.substr(at), column);
      at += t.text.size();
      column += count_characters(t.text);
      all_.push_back(std::move(t));
    }
    all_.push_back({TokenKind::end, "", column});
  }

  const Token& peek() const { return all_[at_]; }
  Token take() { return all_[at_ == all_.size() - 1 ? at_ : at_++]; }
  bool at(std::string_view text) const {
    return (peek().kind == TokenKind::sign || peek().kind == TokenKind::name) &&
           peek().text == text;
  }
  bool accept(std::string_view text) {
    if (!at(text)) return false;
    take();
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text)) fail_expected(fmt::format("'{}'", text));
  }
  [[noreturn]] void fail_expected(std::string_view what) const {
    if (peek().kind == TokenKind::end)
      fail("column {}: expected {}, but the text ends", peek().column, what);
    fail("column {}: expected {}, found '{}'", peek().column, what, peek().text);
  }

 private:
  static Token next(std::string_view text, std::size_t column) {
    if (begins_name(first_character(text)))
      return {TokenKind::name, std::string(text.substr(0, name_length(text))), column};
    if (is_digit(text[0]) || (text[0] == '.' && text.size() > 1 && is_digit(text[1]))) {
      const std::size_t n = number_length(text);
      const std::size_t more = name_length(text.substr(n));
      require(more == 0, "column {}: '{}' is no number that is read here", column,
              text.substr(0, n + more));
      return {TokenKind::number, std::string(text.substr(0, n)), column};
    }
    static constexpr std::array<std::string_view, 28> signs{
        "**", "//", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%", "@", "<", ">",
        "(",  ")",  "[",  "]",  ",",  ":",  "&", "|", "^", "~", ".", "=", "{", "}"};
    const auto sign = std::ranges::find_if(signs,
                                           [&](std::string_view s) { return text.starts_with(s); });
    require(sign != signs.end(), "column {}: '{}' cannot stand in an expression", column,
            first_character(text));
    return {TokenKind::sign, std::string(*sign), column};
  }

  std::vector<Token> all_;
  std::size_t at_ = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(text) {}
  Expression whole() {
    Expression e = conditional();
    if (tokens_.peek().kind != TokenKind::end) tokens_.fail_expected("an operator or the end");
    return e;
  }

 private:
  Expression made(Expression::Kind kind, std::vector<Expression> parts,
                  std::string text = {}) const {
    Expression e;
    e.kind = kind;
    e.column = parts.empty() ? tokens_.peek().column : parts.front().column;
    e.text = std::move(text);
    e.parts = std::move(parts);
    for (const Expression& part : e.parts) e.depth = std::max(e.depth, part.depth + 1);
    if (e.depth > most_chained) fail("the expression chains more than {} operators", most_chained);
    return e;
  }

  Expression conditional() {
    const Deeper deeper(*this);
    Expression then = either();
    if (!tokens_.accept("if")) return then;
    Expression test = either();
    tokens_.expect("else");
    Expression otherwise = conditional();
    return made(Expression::Kind::conditional,
                {std::move(then), std::move(test), std::move(otherwise)});
  }

  Expression either() {
    Expression e = both();
    while (tokens_.accept("or")) e = made(Expression::Kind::either, {std::move(e), both()});
    return e;
  }

  Expression both() {
    Expression e = negation();
    while (tokens_.accept("and")) e = made(Expression::Kind::both, {std::move(e), negation()});
    return e;
  }

  Expression negation() {
    if (!tokens_.at("not")) return comparison();
    const Deeper deeper(*this);
    const std::size_t column = tokens_.take().column;
    Expression e = made(Expression::Kind::unary, {negation()}, "not");
    e.column = column;
    return e;
  }

  Expression comparison() {
    Expression first = binary(0);
    Expression e = made(Expression::Kind::comparison, {});
    while (true) {
      const Token& t = tokens_.peek();
      static constexpr std::array<std::string_view, 6> known{"<", ">", "<=", ">=", "==", "!="};
      if (t.kind != TokenKind::sign || std::ranges::find(known, t.text) == known.end()) break;
      e.operators.push_back(tokens_.take().text);
      e.parts.push_back(binary(0));
    }
    if (e.parts.empty()) return first;
    e.column = first.column;
    e.parts.insert(e.parts.begin(), std::move(first));
    return e;
  }

  /// Left-associative operators, by precedence; level 0 binds weakest.
  Expression binary(std::size_t level) {
    static const std::vector<std::vector<std::string_view>> levels{
        {"|"}, {"^"}, {"&"}, {"+", "-"}, {"*", "/", "//", "%", "@"}};
    if (level == levels.size()) return unary();
    Expression e = binary(level + 1);
    while (tokens_.peek().kind == TokenKind::sign &&
           std::ranges::find(levels[level], tokens_.peek().text) != levels[level].end()) {
      std::string sign = tokens_.take().text;
      e = made(Expression::Kind::binary, {std::move(e), binary(level + 1)}, std::move(sign));
    }
    return e;
  }

  Expression unary() {
    for (const std::string_view sign : {"-", "+", "~"}) {
      if (!tokens_.at(sign)) continue;
      const Deeper deeper(*this);
      const std::size_t column = tokens_.take().column;
      Expression e = made(Expression::Kind::unary, {unary()}, std::string(sign));
      e.column = column;
      return e;
    }
    return power();
  }

  Expression power() {
    Expression base = postfix();
    if (!tokens_.accept("**")) return base;
    const Deeper deeper(*this);
    return made(Expression::Kind::binary, {std::move(base), unary()}, "**");
  }

  Expression postfix() {
    Expression e = atom();
    while (true) {
      if (tokens_.accept("[")) {
        std::vector<Expression> parts{std::move(e)};
        do {
          if (tokens_.at("]")) break;
          parts.push_back(index());
        } while (tokens_.accept(","));
        tokens_.expect("]");
        e = made(Expression::Kind::subscript, std::move(parts));
        continue;
      }
      if (tokens_.at(".") && e.kind == Expression::Kind::name && e.text == "np")
        fail("column {}: functions of NumPy are written with 'numpy.', not 'np.'", e.column);
      if (tokens_.at("(") || tokens_.at("."))
        fail(
            "column {}: only functions of numpy and math and a few of Python's are called, and "
            "nothing else has attributes",
            tokens_.peek().column);
      return e;
    }
  }

  Expression index() {
    Expression e = made(Expression::Kind::slice, {});
    e.parts.resize(3);
    std::size_t colons = 0;
    while (true) {
      if (tokens_.accept(":")) {
        if (++colons > 2) tokens_.fail_expected("an index");
        continue;
      }
      if (tokens_.at(",") || tokens_.at("]")) break;
      e.parts[colons] = conditional();
      if (!tokens_.at(":")) break;
    }
    if (colons > 0) return e;
    if (e.parts[0].kind == Expression::Kind::none) tokens_.fail_expected("an index");
    return std::move(e.parts[0]);
  }

  Expression atom() {
    const Token& t = tokens_.peek();
    if (t.kind == TokenKind::number) return number();
    if (t.kind == TokenKind::name) return name();
    const std::size_t column = t.column;
    const Deeper deeper(*this);
    if (tokens_.accept("(")) {
      Expression e = conditional();
      if (!tokens_.at(",")) {
        tokens_.expect(")");
        e.column = column;
        return e;
      }
      return rest_of_list(std::move(e), ")", column);
    }
    if (tokens_.accept("[")) {
      if (tokens_.accept("]")) return made(Expression::Kind::list, {});
      return rest_of_list(conditional(), "]", column);
    }
    tokens_.fail_expected("a number, a name or a bracket");
  }

  Expression rest_of_list(Expression first, std::string_view end, std::size_t column) {
    Expression e = made(Expression::Kind::list, {});
    e.column = column;
    e.parts.push_back(std::move(first));
    while (tokens_.accept(",") && !tokens_.at(end)) e.parts.push_back(conditional());
    tokens_.expect(end);
    return e;
  }

  Expression number() {
    const Token t = tokens_.take();
    Expression e;
    e.column = t.column;
    std::optional<Number> n;
    if (!has_base(t.text)) n = number_in(t.text);
    else if (const auto i = based_integer_in(t.text)) n = *i;
    require(n.has_value(), "column {}: '{}' is no number that is read here", t.column, t.text);
    if (const auto* i = std::get_if<std::int64_t>(&*n)) {
      e.kind = Expression::Kind::integer;
      e.integer = *i;
    } else {
      e.kind = Expression::Kind::real;
      e.real = std::get<double>(*n);
    }
    return e;
  }

  Expression name() {
    static constexpr std::array<std::string_view, 14> reserved{
        "lambda", "for", "in",     "is",    "if",    "else", "and",
        "or",     "not", "import", "yield", "await", "def",  "None"};
    const Token t = tokens_.take();
    require(std::ranges::find(reserved, t.text) == reserved.end(),
            "column {}: '{}' cannot stand here", t.column, t.text);
    Expression e;
    e.kind = Expression::Kind::name;
    e.column = t.column;
    e.text = t.text;
    if (t.text == "True" || t.text == "False") {
      e.kind = Expression::Kind::boolean;
      e.integer = t.text == "True" ? 1 : 0;
      return e;
    }
    if (t.text == "numpy" || t.text == "math") {
      tokens_.expect(".");
      if (tokens_.peek().kind != TokenKind::name)
        tokens_.fail_expected(fmt::format("a name of {}", t.text));
      e.text += "." + tokens_.take().text;
    }
    return tokens_.accept("(") ? call(std::move(e)) : e;
  }

  Expression call(Expression function) {
    const Deeper deeper(*this);
    function.kind = Expression::Kind::call;
    while (!tokens_.at(")")) {
      const std::size_t column = tokens_.peek().column;
      Expression argument = conditional();
      if (tokens_.accept("=")) {
        require(argument.kind == Expression::Kind::name,
                "column {}: what stands before '=' is no name", column);
        function.keywords.push_back(std::move(argument.text));
        argument = conditional();
      } else if (!function.keywords.empty()) {
        fail("column {}: an argument by position stands after one by name", column);
      }
      function.parts.push_back(std::move(argument));
      if (!tokens_.accept(",")) break;
    }
    tokens_.expect(")");
    return function;
  }

  struct Deeper {
    explicit Deeper(Parser& p) : parser(p) {
      require(++parser.depth_ <= most_brackets,
              "column {}: brackets stand more than {} deep in each other",
              parser.tokens_.peek().column, most_brackets);
    }
    ~Deeper() { --parser.depth_; }
    Parser& parser;
  };

  Tokens tokens_;
  int depth_ = 0;
};

void collect(const Expression& e, std::set<std::string>& names) {
  const bool of_a_module = e.text.starts_with("numpy.") || e.text.starts_with("math.");
  if (e.kind == Expression::Kind::name && !of_a_module) names.insert(e.text);
  for (const Expression& part : e.parts) collect(part, names);
}

}  // namespace

Expression parse_expression(std::string_view text) {
  require(text.find_first_not_of(" \t\r\n") != std::string_view::npos, "the expression is empty");
  return Parser(text).whole();
}

std::set<std::string> names_in(const Expression& e) {
  std::set<std::string> names;
  collect(e, names);
  return names;
}

bool has_subscript_of(const Expression& e, std::string_view name) {
  const bool own = e.kind == Expression::Kind::subscript &&
                   e.parts[0].kind == Expression::Kind::name && e.parts[0].text == name;
  return own || std::ranges::any_of(
                    e.parts, [&](const Expression& part) { return has_subscript_of(part, name); });
}

}  // namespace rondel::mdf
