// The table of instructions: dispatch, checks, help and docs/deepx.md follow from its rows.
#pragma once
#include "frontends/deepx/dtypes.h"
#include "ir/lists.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rondel::deepx {

class Call;
class Change;
class Operands;

enum class Category : std::uint8_t {
  tensor,    ///< the name of a tensor
  tensors,   ///< one or more of them
  argument,  ///< the name of an argument, or a number
  vector,    ///< the name of a vector or argument, or numbers in brackets
  numbers,   ///< one or more numbers
  name,      ///< a name, whatever it stands for
  text,      ///< a path or a format
};

/// The dtypes that an operand takes: of a tensor its own, of an argument the one that its number is
/// converted to.
enum class Takes : std::uint8_t { same, any, integer, boolean };

struct OperandDef {
  std::string_view name;
  Category category = Category::tensor;
  Takes takes = Takes::same;  ///< same: the instruction's dtype
  bool optional = false;
};

struct Instruction {
  std::string_view name;
  std::string_view doc;  ///< one line: what it computes
  std::vector<OperandDef> inputs = {};
  std::vector<OperandDef> outputs = {};
  /// What the instruction's dtype may be: that behind @, of its tensors, of what it makes.
  const DTypes& dtypes = all_dtypes;
  std::vector<std::string_view> spellings = {};  ///< other names
  /// All tensors, the outputs too, have one shape.
  bool one_shape = false;
  /// The other arrow, `<-`, adds gradients: to those of its inputs, from that of its output.
  bool two_way = false;
  /// Its dtype cannot be told from its operands.
  bool needs_dtype = false;
  /// Throws Error(caller) at the place of numbers of the right dtypes that make no sense.
  std::function<void(const Operands&)> check = {};
  /// Writes the nodes of its output, of the output's dtype. None: it changes names, or the world.
  std::function<ir::ValueId(Call&)> value = {};
  std::function<void(Change&)> change = {};
};

/// A file of `instructions/` registers its rows before main.
struct InstructionRows {
  explicit InstructionRows(std::vector<Instruction>);
};

/// All rows, sorted by name.
std::span<const Instruction* const> all_instructions();
/// By its name or another spelling; null where there is none.
const Instruction* find_instruction(std::string_view);
/// The same; throws Error(caller) at the word, with the nearest name.
const Instruction& instruction_named(std::string_view, const Position&);

/// "add@T a b -> c": the line form of a row; `backward`: "add@T a(a_grad) b(b_grad) <- c(c_grad)".
std::string usage(const Instruction&, bool backward = false);

}  // namespace rondel::deepx
