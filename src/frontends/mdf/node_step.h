#pragma once
#include "frontends/mdf/functions.h"
#include "frontends/mdf/model.h"
#include "ir/builder.h"

#include <unordered_map>
#include <vector>

namespace rondel::mdf {

/// Values that override the parameters of the file.
struct Replacements {
  /// In place of value, function and time_derivative.
  std::unordered_map<const Parameter*, ValueId> values;
  /// In place of default_initial_value.
  std::unordered_map<const Parameter*, ValueId> initials;
};

/// The inputs of one execution of a node.
struct StepInputs {
  /// By input port.
  std::vector<ValueId> ports;
  /// By parameter: its value after the node's last execution; `none` if there certainly was none.
  std::vector<ValueId> previous;
  /// bool: whether the node was executed before; `none` if it certainly was not.
  ValueId executed;
  /// bool: whether no time has passed, so that integrated states are reset.
  ValueId first;
  ValueId dt;
  const Replacements& replacements;
  const FunctionOptions& functions;
};

/// The results of one execution of a node, by position in the node.
struct StepResults {
  std::vector<ValueId> functions, parameters, outputs;
};

/// Writes one execution of a node, in the order of modeci_mdf. First the functions, which read the
/// previous values of the parameters. Then the parameters in order; each reads the new values of
/// the parameters before it. Last the output ports. Throws Error that names the port, function or
/// parameter.
StepResults execute(ir::Builder&, const Node&, const StepInputs&);

/// Writes the value that a parameter has before the first execution of its node: its initial value,
/// else its value if that never changes, else 0. Throws Error(caller) that names the parameter.
ValueId value_before(ir::Builder&, const Node&, std::size_t parameter, const Replacements&,
                     const FunctionOptions&);

/// The functions of a node in topological order: each after the functions that it reads.
std::vector<std::size_t> order_of_functions(const Node&);

/// Whether a parameter is a state: it has an initial value before its first update.
bool is_stateful(const Parameter&);

}  // namespace rondel::mdf
