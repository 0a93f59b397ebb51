// The syntax tree of a deepx program, before any name is resolved.
#pragma once
#include "base/error.h"
#include "base/text.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rondel::deepx {

/// A position in a text. Lines and columns count from 1; a column is a character, not a byte.
struct Position {
  std::size_t line = 1, column = 1;
};

/// "line 3, column 7": the frame that every error in a program's text has.
std::string to_text(const Position&);

/// Whether an error has a position in the text.
bool is_placed(const Error&);

/// Throws Error(caller) with a position in the text.
template <class... Args>
[[noreturn]] void fail_at_position(const Position& at, fmt::format_string<Args...> text,
                                   Args&&... args) {
  throw_error_at(Blame::caller, to_text(at),
                 with_short_words(fmt::format(text, std::forward<Args>(args)...)));
}

/// A word of the text and its position.
struct Word {
  std::string text;
  Position at;
};

/// An input or output of an instruction: `t1`, `t1(t1_grad)`, `0.5`, `[3 4 5]`,
/// `tensor<float32>:t1`, `"a path"`.
struct Operand {
  Position at;
  std::string text;                        ///< the name or number; empty for a list
  std::optional<std::vector<Word>> items;  ///< the words of a list in brackets
  std::optional<Word> gradient;            ///< the name in parentheses; "" for `()`
  std::string category;                    ///< "tensor", "vector", "var", "listtensor" or ""
  std::vector<Word> dtypes;                ///< between < and >
  bool quoted = false;
};

enum class Arrow : std::uint8_t { none, forward, backward };

/// The `key=value` pairs after `//`, in order.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// An instruction, or a block of instructions.
struct Statement {
  Position at;
  std::string name;
  std::optional<Word> dtype;  ///< after @
  std::vector<Operand> inputs, outputs;
  Arrow arrow = Arrow::none;
  bool in_parentheses = false;  ///< the newer line form, `op(a, b) -> (c)`
  Metadata metadata;
  bool is_block = false;
  std::vector<Statement> body;  ///< the statements of a block
  std::size_t last_line = 1;    ///< the line of a block's `}`, or of the instruction
};

/// The statement as text, which parses back to the same statement. A block has several lines.
std::string to_text(const Statement&);

}  // namespace rondel::deepx
