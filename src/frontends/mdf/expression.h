#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// The part of Python's expressions that MDF models may use, as trees. Nothing here is evaluated.
namespace rondel::mdf {

struct Expression {
  enum class Kind : std::uint8_t {
    integer,      ///< `integer`
    real,         ///< `real`
    boolean,      ///< `integer`, 0 or 1
    name,         ///< `text`: "x", "numpy.pi"
    call,         ///< `text` is the function, parts its arguments
    unary,        ///< `text` is -, + , ~ or not; one part
    binary,       ///< `text` is + - * / // % ** @ & | ^; two parts
    comparison,   ///< `operators` stand between the parts
    both,         ///< a and b
    either,       ///< a or b
    conditional,  ///< parts: then, test, else
    list,         ///< the elements
    subscript,    ///< parts: what is read, then one for each axis
    slice,        ///< parts: start, stop, step; of kind `none` where left out
    none,
  };
  Kind kind = Kind::none;
  std::size_t column = 0;  ///< of its text, from 1
  std::size_t depth = 1;   ///< of the tree: bounded, so that it can be walked
  std::string text;
  std::int64_t integer = 0;
  double real = 0;
  std::vector<std::string> operators;
  std::vector<std::string> keywords;  ///< of a call: the names of its last arguments
  std::vector<Expression> parts;
};

/// Throws Error(caller) naming the column, in characters, and what stands there.
Expression parse_expression(std::string_view text);

/// The names that an expression reads, functions and constants of numpy and math excepted.
std::set<std::string> names_in(const Expression&);

}  // namespace rondel::mdf
