#pragma once
#include "base/cache_key.h"
#include "frontends/deepx/operands.h"
#include "ir/builder.h"

namespace rondel::deepx {

/// The source of a parameter of a line's graph.
struct Source {
  enum class Of : std::uint8_t {
    tensor,       ///< tensor `part` of operand `slot`
    number,       ///< operand `slot`, which is an argument or a vector
    output,       ///< the old value of the output tensor
    draw_seed,    ///< of the line's random draw: operand `slot`, or the program's
    draw_number,  ///< of the line's random draw; -1 if it has its own seed
    trip,         ///< the trip number of enclosing loop `slot`, outermost first
    adjoint,      ///< the gradient of the output
    gradient,     ///< the old value of gradient target `slot`
  } of;
  std::size_t slot = 0, part = 0;
};

/// What a line computes, independent of its names and numbers: a graph, and the sources of its
/// parameters.
struct LineGraph {
  ir::Graph graph;
  std::vector<Source> params;
  CacheKey key = {};  ///< lines with the same key have the same graph
  ir::ValueId param(const ir::Type&, Source);
};

/// The view of a line for `Instruction::value`: its operands, and a builder for its graph.
class Call {
 public:
  /// `trips`: the number of enclosing loops.
  Call(LineGraph&, const Operands&, std::size_t trips);

  ir::Builder b;
  DType dtype() const { return operands_.dtype(); }
  bool has(std::size_t k) const { return operands_.inputs()[k].written != nullptr; }
  bool is_tensor(std::size_t k) const { return k < values_.size() && !values_[k].empty(); }
  /// Input k, which is a tensor; `tensors` is for a variadic input.
  ir::ValueId tensor(std::size_t k) const { return values_[k][0]; }
  const std::vector<ir::ValueId>& tensors(std::size_t k) const { return values_[k]; }
  const Shape& shape(std::size_t k) const { return operands_.inputs()[k].tensors[0].shape; }
  /// Input k, an argument or a vector, as a graph value in the dtype of the row.
  ir::ValueId number(std::size_t k);
  /// Input k, an argument or a vector of integers or bool, as a constant: its value is a part of
  /// the graph's key. All other numbers may differ between lines that share a graph.
  std::int64_t integer(std::size_t k) const;
  std::int64_t integer(std::size_t k, std::int64_t otherwise) const;
  ir::Ints integers(std::size_t k) const;
  const Position& at(std::size_t k) const { return operands_.inputs()[k].written->at; }

  /// The type of the output tensor.
  const Shape& output_shape() const { return output().shape; }
  DType output_dtype() const { return output().dtype; }
  /// The value of the output tensor before the line.
  ir::ValueId value_of_output();
  /// The random key of this line's draw. `k`: the seed operand. If it is omitted or 0, the draw
  /// uses the program's seed.
  ir::ValueId draw_key(std::size_t k);

  ir::ValueId operator()(std::string_view op, std::vector<ir::ValueId> inputs,
                         ir::Attributes attributes = {}) {
    return b(op, std::move(inputs), std::move(attributes));
  }
  /// A scalar of the instruction's dtype.
  ir::ValueId constant(double v) { return b.scalar(dtype(), v); }
  ir::ValueId cast(ir::ValueId, DType);
  ir::ValueId reshaped(ir::ValueId, const Shape&);

 private:
  const TensorOperand& output() const { return operands_.outputs()[0].tensors[0]; }

  LineGraph& line_;
  const Operands& operands_;
  const std::size_t trips_;
  std::vector<std::vector<ir::ValueId>> values_;  ///< of the tensor operands, by input
};

}  // namespace rondel::deepx
