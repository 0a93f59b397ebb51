#pragma once
#include "frontends/deepx/instruction.h"
#include "frontends/deepx/program.h"

namespace rondel::deepx {

/// A tensor operand of a line, resolved.
struct TensorOperand {
  std::string name;
  Position at;
  DType dtype;
  Shape shape;
  const Operand* written;
};

/// One operand of an instruction: its definition in the row, and its value in the line.
struct Slot {
  const OperandDef* def = nullptr;
  const Operand* written = nullptr;    ///< null if it is omitted
  std::vector<const Operand*> parts;   ///< `written`, and the rest of a variadic operand
  std::vector<TensorOperand> tensors;  ///< of a tensor operand; several if variadic
  std::vector<Word> words;             ///< of a `numbers` operand
  bool is_list = false;                ///< the numbers are a vector, even if there is one
  Tensor number;                       ///< the value of an argument (a scalar) or a vector
  std::string text;                    ///< of a `name` or `text` operand
};

/// The operands of a line, matched to the row of its instruction, resolved and checked.
class Operands {
 public:
  /// Throws Error(caller) with a position in the line.
  Operands(const Program&, const Instruction&, const Statement&);

  DType dtype() const { return dtype_; }
  const std::vector<Slot>& inputs() const { return inputs_; }
  const std::vector<Slot>& outputs() const { return outputs_; }
  /// The type that the line declares for a name, which may be omitted.
  TypeAnnotation annotation_of(const Slot&) const;

 private:
  void match(const std::vector<OperandDef>&, const std::vector<Operand>&, const Position& end,
             std::vector<Slot>&);
  void look_up_tensors(Slot&);
  static void numbers_of(Slot&);
  void find_dtype();
  void look_up(Slot&);
  void check(const Slot&) const;
  void check_words(const Slot&) const;
  void check_shapes() const;
  [[noreturn]] void fail_count(const std::vector<OperandDef>&, const Position&,
                               std::size_t given) const;

  const Program& program_;
  const Instruction& row_;
  const Statement& line_;
  DType dtype_ = DType::f32;
  bool has_dtype_ = false;
  std::vector<Slot> inputs_, outputs_;
};

/// The tensor of this name. Throws Error(caller), with the position, if the name is undefined or
/// has another kind.
const TensorEntry& tensor_named(const Program&, const std::string& name, const Position&);

/// The view of a line for instructions that change names or request effects.
class Change {
 public:
  Change(Program& p, const Operands& o) : program_(p), operands_(o) {}

  DType dtype() const { return operands_.dtype(); }
  const Slot& input(std::size_t k) const { return operands_.inputs()[k]; }
  const Slot& output(std::size_t k) const { return operands_.outputs()[k]; }
  /// The entry of a name. Throws Error(caller), with the position of the operand, if the name is
  /// undefined or does not have the type that the line declares.
  const Entry& entry(const Slot&) const;
  const Entry* find(const Slot& s) const { return program_.names().find(s.text); }
  /// The value of an argument or vector, counted against the memory budget.
  Tensor counted(const Tensor& t) const { return program_.surroundings().counted(t); }
  /// Defines a name. Throws Error(caller) if the entry does not have the declared type.
  void set(const Slot&, Entry);
  /// Gives a tensor a new, free name. The line may annotate the name as a string, `var<string>:c`.
  void rename(const TensorOperand&, const Slot& to);
  TypeAnnotation annotation_of(const Slot& s) const { return operands_.annotation_of(s); }
  /// Defines a new tensor of zeros. Throws Error(caller) if the name is taken.
  void make_tensor(const Slot& name, DType, Shape);
  void erase(const Slot& s) { program_.erase(s.text); }
  const TensorEntry& tensor(const TensorOperand& t) const {
    return tensor_named(program_, t.name, t.at);
  }
  /// Defines a name as a tensor with this value.
  void set_tensor(const Slot& s, TensorEntry t) { set(s, std::move(t)); }
  void erase_tensor(const TensorOperand& t) { program_.erase(t.name); }
  void request(Effect e) { effect = std::move(e); }
  void require_free(const Slot&) const;

  std::optional<Effect> effect;

 private:
  Program& program_;
  const Operands& operands_;
};

/// The maximum rank of a tensor: the type rules of ops support no more.
inline constexpr std::size_t most_dims = 64;
/// A shape from a vector. Throws Error(caller), with the position, for a negative extent or more
/// than `most_dims` extents, and Error(limit) if the size exceeds the address space.
Shape shape_from(const ir::Ints&, DType, const Position&);
/// Normalizes axes to 0 ... rank - 1; negative ones count from the end. Throws Error(caller), with
/// the position, if an axis is out of range or occurs twice.
ir::Ints axes_from(const ir::Ints&, std::size_t rank, const Position&);

}  // namespace rondel::deepx
