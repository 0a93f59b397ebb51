#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// The syntax trees of expressions, which are a subset of Python's. Nothing here is evaluated.
namespace rondel::mdf {

struct Expression {
  enum class Kind : std::uint8_t {
    integer,      ///< `integer`
    real,         ///< `real`
    boolean,      ///< `integer`, 0 or 1
    name,         ///< `text`: "x", "numpy.pi"
    call,         ///< `text` is the function, `parts` its arguments
    unary,        ///< `text` is -, + , ~ or not; one part
    binary,       ///< `text` is + - * / // % ** @ & | ^; two parts
    comparison,   ///< a chain: `operators[k]` is between parts k and k + 1
    both,         ///< `a and b`
    either,       ///< `a or b`
    conditional,  ///< parts: then, test, else
    list,         ///< `parts` are the elements
    subscript,    ///< parts: the array, then one index or slice per axis
    slice,        ///< parts: start, stop, step; kind `none` if omitted
    none,
  };
  Kind kind = Kind::none;
  std::size_t column = 0;  ///< where its text begins, from 1
  std::size_t depth = 1;   ///< of the tree; bounded, so that recursion is safe
  std::string text;
  std::int64_t integer = 0;
  double real = 0;
  std::vector<std::string> operators;
  std::vector<std::string> keywords;  ///< of a call: the names of the trailing arguments
  std::vector<Expression> parts;
};

/// Parses an expression. Throws Error(caller) with the column, in characters, and the text there.
Expression parse_expression(std::string_view text);

/// The names that an expression reads, except functions and constants of numpy and math.
std::set<std::string> names_in(const Expression&);
/// Whether an expression has brackets behind a name, as f[1].
bool has_subscript_of(const Expression&, std::string_view name);

}  // namespace rondel::mdf
