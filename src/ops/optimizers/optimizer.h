#pragma once
#include "ops/compose.h"
#include "ops/type_rules.h"

#include <array>

/// Shared by Adam, Adagrad and Momentum (ai.onnx.preview.training). Inputs: r, t, X_1 .. X_n,
/// G_1 .. G_n, then n tensors of each optimizer state. Outputs: the new X_1 .. X_n, then the new
/// states. `r` is the learning rate and `t` the number of updates before this one.
namespace rondel::ops {

/// The update of one tensor.
struct Update {
  ir::Builder& b;
  DType dtype;
  ir::ValueId r;  ///< the learning rate, adjusted by `Optimizer::rate`, in the tensor's dtype
  ir::ValueId x, g;
  std::vector<ir::ValueId> states;

  ir::ValueId number(double v) const { return b.scalar(dtype, v); }
  ir::ValueId scaled(double factor, ir::ValueId v) const;
  /// G + norm_coefficient * X: the gradient of the loss plus 0.5 * norm_coefficient * |X|^2.
  ir::ValueId regularized(const ir::Attributes&) const;
};

/// An optimizer with `states` state tensors for each tensor.
struct Optimizer {
  std::size_t states;
  /// The learning rate of this update from the inputs r and t of the node. Rates are scalars of
  /// f64, t is a scalar of i64.
  std::function<ir::ValueId(ir::Builder&, const ir::Attributes&, ir::ValueId r, ir::ValueId t)>
      rate;
  /// The new X and the new states. `t` is a scalar of i64.
  std::function<std::vector<ir::ValueId>(const Update&, const ir::Attributes&, ir::ValueId t)> step;
};

/// Whether the ranks of all inputs are known, so that the type rule has compared them.
bool has_all_ranks(const ir::Graph&, const ir::Node&);
/// The function of the ops' composite meaning.
std::vector<ir::ValueId> optimizer_update(ir::Builder&, const ir::Node&, const Optimizer&);
/// The type rule of the ops: each output has the type of the X that it belongs to.
void optimizer_rule(ir::TypeContext&, std::size_t states);
/// The input definitions of the three ops.
std::vector<ir::InputDef> optimizer_inputs();

}  // namespace rondel::ops
