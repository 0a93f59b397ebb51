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
};

/// Names of the graph's inputs beside those of `Given`, which are called "input NAME",
/// "initial NAME" and "set NAME".
inline constexpr const char* steps_name = "steps";
inline constexpr const char* dt_name = "dt";

/// A model as one loop: `steps` + 1 evaluations, of which the first begins the states, the others
/// are a step of `dt` each. Outputs are called as in `record`: [steps + 1, ...], and with a sweep
/// of P points [steps + 1, P, ...]. Throws Error naming node, port and parameter.
ir::Graph lower(const Graph&, const LowerOptions&);

/// Extents of a parameter's value, as the model alone has them: what tells a sweep from a value.
Shape shape_of_parameter(const Graph&, const std::string& name, const FunctionOptions&);

/// The input port of a name. Throws Error(caller) where there is none.
const InputPort& input_port(const Graph&, const std::string& name);

}  // namespace rondel::mdf
