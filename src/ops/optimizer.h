#pragma once
#include "ops/compose.h"
#include "ops/type_rules.h"

#include <array>

/// What Adam, Adagrad and Momentum (ai.onnx.preview.training) share: inputs (r, t, X_1 .. X_n,
/// G_1 .. G_n, then n tensors of each state), outputs (the new X_1 .. X_n, then the new states).
/// `r` is the learning rate and `t` the number of updates before this one.
namespace rondel::ops {

/// One tensor's share of an update.
struct Update {
  ir::Builder& b;
  DType dtype;
  ir::ValueId r;  ///< the rate that the op has adjusted, in the tensor's dtype
  ir::ValueId x, g;
  std::vector<ir::ValueId> states;

  ir::ValueId number(double v) const { return b.scalar(dtype, v); }
  ir::ValueId scaled(double factor, ir::ValueId v) const;
  /// G + norm_coefficient * X: the gradient with that of 0.5 * norm_coefficient * |X|^2.
  ir::ValueId regularized(const ir::Attributes&) const;
};

/// Of an optimizer with so many states for each tensor.
struct Optimizer {
  std::size_t states;
  /// The rate of this update from those of the node, scalars of f64.
  std::function<ir::ValueId(ir::Builder&, const ir::Attributes&, ir::ValueId r, ir::ValueId t)>
      rate;
  /// The new X and the new states. `t` is a scalar of i64.
  std::function<std::vector<ir::ValueId>(const Update&, const ir::Attributes&, ir::ValueId t)> step;
};

/// The composite's meaning.
std::vector<ir::ValueId> optimizer_update(ir::Builder&, const ir::Node&, const Optimizer&);
/// Its type rule: each new tensor has the type of its X.
void optimizer_rule(ir::TypeContext&, std::size_t states);
/// The inputs of the three ops.
std::vector<ir::InputDef> optimizer_inputs();

}  // namespace rondel::ops
