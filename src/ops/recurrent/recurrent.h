#pragma once
#include "ops/compose.h"

/// RNN, GRU and LSTM as small graphs with a loop over time. The product of the input and the input
/// weights is computed before the loop, for all time steps at once.
namespace rondel::ops {

/// An activation with its parameters. `name` is the ONNX name in lower case ("hardsigmoid").
struct Activation {
  std::string name;
  double alpha, beta;
  ir::ValueId operator()(ir::Builder&, ir::ValueId x) const;
};

/// The position of each optional input; -1 if the op has no such input.
struct RecurrentInputs {
  int initial_c = -1, peepholes = -1;
  /// w_scale, which is followed by w_zero_point, r_scale and r_zero_point. An op that has them
  /// takes weights in bytes, [directions, inputs, gates * hidden].
  int scales = -1;
  bool quantized() const { return scales >= 0; }
};

/// The weights of one direction: [inputs, gates * hidden], as floats or as bytes with their scale
/// and zero point, which are scalars or have an element for each column.
struct Weights {
  ir::ValueId matrix, scale = ir::ValueId::none, zero_point = ir::ValueId::none;
  /// x times the weights. For bytes, x is quantized by its least and its greatest element.
  ir::ValueId product(ir::Builder&, ir::ValueId x) const;
};

/// The operands that one direction uses inside its loop.
struct Cell {
  Weights recurrence;     ///< R of the direction: [hidden, gates * hidden]
  ir::ValueId bias;       ///< [gates * hidden], the recurrence bias if added in the loop; or none
  ir::ValueId peepholes;  ///< [3 * hidden] or none
  std::vector<Activation> activations;
  double clip;  ///< 0: no clipping
  const ir::Attributes* attributes;

  /// Activation k, applied to x clamped to [-clip, clip].
  ir::ValueId activate(ir::Builder&, std::size_t k, ir::ValueId x) const;
  ir::ValueId product(ir::Builder& b, ir::ValueId h) const;  ///< h times the recurrence
};

/// The differences between RNN, GRU and LSTM.
struct Recurrence {
  std::int64_t gates;
  std::size_t states;                    ///< 1: [h]; 2: [h, c]
  std::vector<std::string> activations;  ///< the default activations of one direction
  /// Whether the recurrence bias must be added inside the loop.
  std::function<bool(const ir::Attributes&)> inner_bias;
  /// The next states from `x`, which is x w^T + biases [n, gates * hidden], and the current states.
  std::function<std::vector<ir::ValueId>(ir::Builder&, const Cell&, ir::ValueId x,
                                         std::span<const ir::ValueId> states)>
      step;
  RecurrentInputs inputs;
};

/// x split into `count` equal parts along its last axis.
std::vector<ir::ValueId> split_last_axis(ir::Builder&, ir::ValueId x, std::int64_t count);

/// The outputs of the node, computed by one loop for each direction.
std::vector<ir::ValueId> recurrent_loops(ir::Builder&, const ir::Node&, const Recurrence&);
void recurrent_rule(ir::TypeContext&, const Recurrence&);
/// The attributes that RNN, GRU and LSTM have in common.
ir::Attributes recurrent_attributes();

}  // namespace rondel::ops
