// What a deepx program says, as it was written: no name has been looked up yet.
#pragma once
#include "base/error.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rondel::deepx {

/// A place in a text. Lines count from 1; columns count characters, from 1.
struct Position {
  std::size_t line = 1, column = 1;
};

/// "line 3, column 7": the frame of every error in a program's text.
std::string to_text(const Position&);

/// Whether an error has its place in the text.
bool is_placed(const Error&);

/// Throws Error(caller) at a place in the text.
template <class... Args>
[[noreturn]] void fail_at_position(const Position& at, fmt::format_string<Args...> text,
                                   Args&&... args) {
  throw_error_at(Blame::caller, to_text(at), fmt::format(text, std::forward<Args>(args)...));
}

/// A word of the text and where it stands.
struct Word {
  std::string text;
  Position at;
};

/// What an instruction reads or writes: `t1`, `t1(t1_grad)`, `0.5`, `[3 4 5]`,
/// `tensor<float32>:t1`, `"a path"`.
struct Operand {
  Position at;
  std::string text;                        ///< the name or number; empty for a list
  std::optional<std::vector<Word>> items;  ///< of a list in brackets
  std::optional<Word> gradient;            ///< the name in parentheses; "" where that is empty
  std::string category;                    ///< "tensor", "vector", "var", "listtensor", or none
  std::vector<Word> dtypes;                ///< between < and >
  bool quoted = false;
};

enum class Arrow : std::uint8_t { none, forward, backward };

/// `key=value` pairs behind `//`, in order.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// An instruction or a block of them.
struct Statement {
  Position at;
  std::string name;
  std::optional<Word> dtype;  ///< behind @
  std::vector<Operand> inputs, outputs;
  Arrow arrow = Arrow::none;
  bool in_parentheses = false;  ///< the later line form, `op(a, b) -> (c)`
  Metadata metadata;
  bool is_block = false;
  std::vector<Statement> body;  ///< of a block
  std::size_t last_line = 1;    ///< that of a block's `}`, else of the instruction
};

/// The statement as text that the parser reads to the same statement; of a block many lines.
std::string to_text(const Statement&);

}  // namespace rondel::deepx
