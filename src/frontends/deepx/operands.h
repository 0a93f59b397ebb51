#pragma once
#include "frontends/deepx/instruction.h"
#include "frontends/deepx/program.h"

namespace rondel::deepx {

/// A tensor that a line names.
struct TensorOperand {
  std::string name;
  Position at;
  DType dtype;
  Shape shape;
  const Operand* written;
};

/// One operand of an instruction, as its row describes it and as the line gives it.
struct Slot {
  const OperandDef* def = nullptr;
  const Operand* written = nullptr;    ///< null where it is left out
  std::vector<const Operand*> parts;   ///< that, and the others of several
  std::vector<TensorOperand> tensors;  ///< of a tensor, or several
  std::vector<Word> words;             ///< of numbers
  bool is_list = false;                ///< these numbers are a vector, however many
  Tensor number;                       ///< of an argument (a scalar) or a vector
  std::string text;                    ///< of a name or a text
};

/// The operands of a line by the row of its instruction, looked up and checked.
class Operands {
 public:
  /// Throws Error(caller) at a place in the line.
  Operands(const Program&, const Instruction&, const Statement&);

  DType dtype() const { return dtype_; }
  const std::vector<Slot>& inputs() const { return inputs_; }
  const std::vector<Slot>& outputs() const { return outputs_; }
  /// What the line says of a name, or of the one that it leaves out.
  Said said_of(const Slot&) const;

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

/// The tensor of this name. Throws Error(caller) at the place, saying what the name is instead.
const TensorEntry& tensor_named(const Program&, const std::string& name, const Position&);

/// A line that changes names, or asks for something beside values.
class Change {
 public:
  Change(Program& p, const Operands& o) : program_(p), operands_(o) {}

  DType dtype() const { return operands_.dtype(); }
  const Slot& input(std::size_t k) const { return operands_.inputs()[k]; }
  const Slot& output(std::size_t k) const { return operands_.outputs()[k]; }
  /// What a name stands for; throws Error(caller) at the operand where it stands for nothing, or
  /// for something else than the line says.
  const Entry& entry(const Slot&) const;
  const Entry* find(const Slot& s) const { return program_.names().find(s.text); }
  /// An argument's or a vector's block, counted as memory in use.
  Tensor counted(const Tensor& t) const { return program_.surroundings().counted(t); }
  /// Gives a name a meaning; throws Error(caller) where the line says otherwise.
  void set(const Slot&, Entry);
  /// The same for a name that is itself said to be a text, `var<string>:c`.
  void rename(const TensorOperand&, const Slot& to);
  Said said_of(const Slot& s) const { return operands_.said_of(s); }
  /// A new tensor; throws Error(caller) where the name is taken.
  void make_tensor(const Slot& name, DType, Shape);
  void erase(const Slot& s) { program_.erase(s.text); }
  const TensorEntry& tensor(const TensorOperand& t) const {
    return tensor_named(program_, t.name, t.at);
  }
  /// Gives the name the value of a tensor.
  void set_tensor(const Slot& s, TensorEntry t) { set(s, std::move(t)); }
  void erase_tensor(const TensorOperand& t) { program_.erase(t.name); }
  void ask(Effect e) { effect = std::move(e); }
  void require_free(const Slot&) const;

  std::optional<Effect> effect;

 private:
  Program& program_;
  const Operands& operands_;
};

/// The dims that a tensor may have: of more the ops do not know types.
inline constexpr std::size_t most_dims = 64;
/// A shape from a vector. Throws Error(caller) at the place for a negative extent and for too many
/// of them, Error(limit) for more elements than any memory holds.
Shape shape_from(const ir::Ints&, DType, const Position&);
/// Axes of a tensor, counted from the front; each may occur once. Throws Error(caller) at the
/// place.
ir::Ints axes_from(const ir::Ints&, std::size_t rank, const Position&);

}  // namespace rondel::deepx
