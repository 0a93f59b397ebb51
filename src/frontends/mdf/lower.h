#pragma once
#include "frontends/mdf/functions.h"
#include "frontends/mdf/model.h"
#include "ir/graph.h"

#include <optional>
#include <string>
#include <vector>

namespace rondel::mdf {

/// A value of the file that is overridden by an input of the graph.
struct Given {
  std::string name;  ///< "node.port" or "node.parameter"
  DType dtype;
  Shape shape;  ///< for one evaluation and one point of a sweep
  /// The graph input has an extra first axis: one row per evaluation for an input port, one row per
  /// sweep point for a parameter.
  bool rows = false;
  /// The default of the graph input, if it is optional.
  std::optional<Tensor> otherwise = {};
};

struct LowerOptions {
  std::vector<std::string> record;  ///< the outputs, "node.port"; empty: all output ports
  std::vector<Given> inputs, initial, set;
  FunctionOptions functions;
  std::int64_t steps = 0;  ///< the default of the input `steps`
  double dt = 1;           ///< the default of the input `dt`
  /// The graph is one part of a run: the states are inputs and outputs of the graph.
  bool resumable = false;
};

/// A carried state of a resumable graph: the input and the output of this name. In a sweep it has
/// an additional first axis.
struct CarriedState {
  std::string name;
  DType dtype;
  Shape shape;
  /// Each evaluation computes the value anew and none reads it before.
  bool recomputed = false;
};

struct Lowered {
  ir::Graph graph;
  /// Of a resumable graph. The initial value of each is `nothing`.
  std::vector<CarriedState> states;
};

/// The names of the graph's other inputs. The inputs for `Given` values are called "input NAME",
/// "initial NAME" and "set NAME".
inline constexpr const char* steps_name = "steps";
inline constexpr const char* dt_name = "dt";
/// The inputs of a resumable graph in place of `steps`: the number of evaluations to make, the
/// number already made, and whether no time passes in the first one. In a timeless evaluation,
/// states with a time derivative are reset to their initial values and all other states continue.
inline constexpr const char* evaluations_name = "evaluations";
inline constexpr const char* evaluated_name = "evaluated";
inline constexpr const char* timeless_name = "timeless";

/// Lowers a model to one loop of `steps` + 1 evaluations: the first initializes the states, each
/// other one is a step of `dt`. Outputs are named as in `record`; their shape is [steps + 1, ...],
/// or [steps + 1, P, ...] for a sweep of P points. Throws Error that names the node and its port or
/// parameter.
Lowered lower(const Graph&, const LowerOptions&);

/// The placeholder for a value that has not been computed: NaN, or 0 or false if the dtype has no
/// NaN.
Tensor nothing(DType, const Shape&);

/// The shape of a parameter's value in the model alone. A given value with an additional axis is a
/// sweep.
Shape shape_of_parameter(const Graph&, const std::string& name, const FunctionOptions&);

/// The input port with this name. Throws Error(caller) if there is none.
const InputPort& input_port(const Graph&, const std::string& name);

/// The edge that overwrites an input port in every evaluation, so that an external value has no
/// effect. Null if there is none: the port combines its values (`reduce`), or the sender may not
/// have run before.
const Edge* overwriting_edge(const Graph&, const InputPort&);

}  // namespace rondel::mdf
