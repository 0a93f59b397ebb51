#pragma once
#include "base/cache_key.h"
#include "frontends/deepx/operands.h"
#include "ir/builder.h"

namespace rondel::deepx {

/// What a parameter of a line's graph stands for.
struct Source {
  enum class Of : std::uint8_t {
    tensor,       ///< operand `slot`, tensor `part` of it
    number,       ///< operand `slot`, an argument or a vector
    output,       ///< the tensor that the line writes, as it stands before
    draw_seed,    ///< of the line's draw; its own is operand `slot`
    draw_number,  ///< likewise
    trip,         ///< number `slot` of the trips around
    adjoint,      ///< the gradient of the output
    gradient,     ///< gradient tensor number `slot` of those that the line adds to
  } of;
  std::size_t slot = 0, part = 0;
};

/// What a line computes, apart from its names and numbers: a graph, and what its parameters stand
/// for.
struct LineGraph {
  ir::Graph graph;
  std::vector<Source> params;
  CacheKey key = {};  ///< lines with one key have one graph
  ir::ValueId param(const ir::Type&, Source);
};

/// A line that computes a value, for the row that says how.
class Call {
 public:
  /// `trips`: the number of loops around.
  Call(LineGraph&, const Operands&, std::size_t trips);

  ir::Builder b;
  DType dtype() const { return operands_.dtype(); }
  bool has(std::size_t k) const { return operands_.inputs()[k].written != nullptr; }
  bool is_tensor(std::size_t k) const { return k < values_.size() && !values_[k].empty(); }
  /// The tensor that is input k; several.
  ir::ValueId tensor(std::size_t k) const { return values_[k][0]; }
  const std::vector<ir::ValueId>& tensors(std::size_t k) const { return values_[k]; }
  const Shape& shape(std::size_t k) const { return operands_.inputs()[k].tensors[0].shape; }
  /// An argument or a vector, in the dtype that its row says, as a value.
  ir::ValueId number(std::size_t k);
  /// An argument or vector of integers or bool, as it is in this line; others may differ in the
  /// next line that has the same graph.
  std::int64_t integer(std::size_t k) const;
  std::int64_t integer(std::size_t k, std::int64_t otherwise) const;
  ir::Ints integers(std::size_t k) const;
  const Position& at(std::size_t k) const { return operands_.inputs()[k].written->at; }

  /// The tensor that is written.
  const Shape& output_shape() const { return output().shape; }
  DType output_dtype() const { return output().dtype; }
  ir::ValueId value_of_output();
  /// The key of this line's draw. `k`: the operand that is its seed; one that is left out, or 0, is
  /// the program's.
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
  std::vector<std::vector<ir::ValueId>> values_;  ///< of the tensors, by input
};

}  // namespace rondel::deepx
