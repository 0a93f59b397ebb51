#pragma once
#include "ops/compose.h"

/// RNN, GRU and LSTM as small graphs around a loop over time. The product of the input and its
/// weights is computed for all time steps at once, before the loop.
namespace rondel::ops {

/// An activation with its parameters, as ONNX names them ("Tanh", "HardSigmoid", ...).
struct Activation {
  std::string name;
  double alpha, beta;
  ir::ValueId operator()(ir::Builder&, ir::ValueId x) const;
};

/// Position of each input; -1 where the op has none.
struct RecurrentInputs {
  int initial_c = -1, peepholes = -1;
};

/// One direction inside its loop.
struct Cell {
  ir::ValueId recurrence;  ///< r of the direction, transposed: [hidden, gates * hidden]
  ir::ValueId bias;        ///< recurrence bias added in the loop, [gates * hidden]; or none
  ir::ValueId peepholes;   ///< [3 * hidden] or none
  std::vector<Activation> activations;
  double clip;  ///< 0: none
  const ir::Attributes* attributes;

  /// Activation k of x clamped to [-clip, clip].
  ir::ValueId activate(ir::Builder&, std::size_t k, ir::ValueId x) const;
  ir::ValueId product(ir::Builder& b, ir::ValueId h) const;  ///< h times the recurrence
};

/// The differences between RNN, GRU and LSTM.
struct Recurrence {
  std::int64_t gates;
  std::size_t states;                    ///< 1: [h]; 2: [h, c]
  std::vector<std::string> activations;  ///< defaults of one direction
  /// Whether the recurrence bias must be added inside the loop.
  std::function<bool(const ir::Attributes&)> inner_bias;
  /// Next states from x w^T + biases [n, gates * hidden] and the states.
  std::function<std::vector<ir::ValueId>(ir::Builder&, const Cell&, ir::ValueId x,
                                         std::span<const ir::ValueId> states)>
      step;
  RecurrentInputs inputs;
};

/// x in `count` equal parts along its last axis.
std::vector<ir::ValueId> split_last_axis(ir::Builder&, ir::ValueId x, std::int64_t count);

/// The node's outputs, from one loop for each direction.
std::vector<ir::ValueId> recurrent_loops(ir::Builder&, const ir::Node&, const Recurrence&);
void recurrent_rule(ir::TypeContext&, const Recurrence&);
/// The attributes that RNN, GRU and LSTM have in common.
ir::Attributes recurrent_attributes();

}  // namespace rondel::ops
