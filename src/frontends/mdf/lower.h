#pragma once
#include "frontends/mdf/functions.h"
#include "frontends/mdf/model.h"
#include "ir/graph.h"

#include <optional>
#include <string>
#include <vector>

namespace rondel::mdf {

/// A value that the graph takes as an input in place of what the file says.
struct Given {
  std::string name;  ///< "node.port" or "node.parameter"
  DType dtype;
  Shape shape;  ///< of one evaluation and one point of a sweep
  /// Of an input: one row for each evaluation. Of a parameter: one for each point of a sweep.
  bool rows = false;
  /// The value where the input is left out.
  std::optional<Tensor> otherwise = {};
};

struct LowerOptions {
  std::vector<std::string> record;  ///< "node.port": the outputs; empty: every output port
  std::vector<Given> inputs, initial, set;
  FunctionOptions functions;
  std::int64_t steps = 0;  ///< where the input is left out
  double dt = 1;           ///< likewise
  /// The graph is a part of a run: its states come in and go out.
  bool resumable = false;
};

/// A value that a resumable graph takes as the input of this name, and gives as the output of this
/// name. In a sweep it has one more axis, in front.
struct CarriedState {
  std::string name;
  DType dtype;
  Shape shape;
};

struct Lowered {
  ir::Graph graph;
  /// Of a resumable graph. Each begins as "nothing" (`nothing` makes it).
  std::vector<CarriedState> states;
};

/// Names of the graph's inputs beside those of `Given`, which are called "input NAME",
/// "initial NAME" and "set NAME".
inline constexpr const char* steps_name = "steps";
inline constexpr const char* dt_name = "dt";
/// Those of a resumable graph, in place of `steps`: how many evaluations it makes, how many have
/// been made before, and whether in its first one no time passes, so that states with a time
/// derivative begin anew and all else goes on.
inline constexpr const char* evaluations_name = "evaluations";
inline constexpr const char* evaluated_name = "evaluated";
inline constexpr const char* timeless_name = "timeless";

/// A model as one loop: `steps` + 1 evaluations, of which the first begins the states, the others
/// are a step of `dt` each. Outputs are called as in `record`: [steps + 1, ...], and with a sweep
/// of P points [steps + 1, P, ...]. Throws Error naming node, port and parameter.
Lowered lower(const Graph&, const LowerOptions&);

/// What a value holds before there is one: NaN, or 0 or false where the dtype has no NaN.
Tensor nothing(DType, const Shape&);

/// Extents of a parameter's value, as the model alone has them: what tells a sweep from a value.
Shape shape_of_parameter(const Graph&, const std::string& name, const FunctionOptions&);

/// The input port of a name. Throws Error(caller) where there is none.
const InputPort& input_port(const Graph&, const std::string& name);

/// The edge that gives an input port its value in every evaluation, whatever else it is given; null
/// where there is none: the port joins what it gets, or the sender may not have run before.
const Edge* overwriting_edge(const Graph&, const InputPort&);

}  // namespace rondel::mdf
