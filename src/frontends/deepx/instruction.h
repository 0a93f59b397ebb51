// The table of instructions. Dispatch, checks, help and docs/deepx.md are derived from its rows.
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
  tensors,   ///< the names of one or more tensors
  argument,  ///< a scalar: the name of an argument, or a number
  vector,    ///< the name of a vector or argument, or numbers in brackets
  numbers,   ///< one or more numbers
  name,      ///< a name of any kind, defined or not
  text,      ///< a path or a format
};

/// The dtypes that an operand accepts. A tensor must have the dtype; the value of an argument is
/// converted to it.
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
  /// The allowed values of the instruction's dtype: the one after @, or the dtype of its tensors.
  const DTypes& dtypes = all_dtypes;
  std::vector<std::string_view> spellings = {};  ///< aliases of the name
  /// All tensors, inputs and outputs, must have the same shape.
  bool one_shape = false;
  /// Has a backward form with the arrow `<-`: it adds to the gradients of the inputs, from the
  /// gradient of the output.
  bool two_way = false;
  /// The dtype cannot be inferred from the operands and must be written after @.
  bool needs_dtype = false;
  /// Checks the values of arguments. Throws Error(caller) with the position of an invalid one.
  std::function<void(const Operands&)> check = {};
  /// Builds the nodes that compute the output, in the output's dtype. Empty for an instruction that
  /// has `change` instead.
  std::function<ir::ValueId(Call&)> value = {};
  /// Changes names, or requests an effect (printing, files).
  std::function<void(Change&)> change = {};
};

/// Registers the rows of a file of `instructions/`, during static initialization.
struct InstructionRows {
  explicit InstructionRows(std::vector<Instruction>);
};

/// All rows, sorted by name.
std::span<const Instruction* const> all_instructions();
/// Finds an instruction by its name or an alias; null if there is none.
const Instruction* find_instruction(std::string_view);
/// As `find_instruction`, but throws Error(caller), with the position and the nearest name.
const Instruction& instruction_named(std::string_view, const Position&);

/// The usage line of a row: "add@T a b -> c", or "add@T a(a_grad) b(b_grad) <- c(c_grad)" if
/// `backward`.
std::string usage(const Instruction&, bool backward = false);

}  // namespace rondel::deepx
