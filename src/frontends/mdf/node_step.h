#pragma once
#include "frontends/mdf/functions.h"
#include "frontends/mdf/model.h"
#include "ir/builder.h"

#include <unordered_map>
#include <vector>

namespace rondel::mdf {

/// Values that stand in place of what the file says of a parameter.
struct Replacements {
  std::unordered_map<const Parameter*, ValueId> values;  ///< what it is, instead of value, function
                                                         ///< and time_derivative
  std::unordered_map<const Parameter*, ValueId> initials;  ///< of default_initial_value
};

/// What one execution of a node reads.
struct StepInputs {
  std::vector<ValueId> ports;     ///< of each input port
  std::vector<ValueId> previous;  ///< of each parameter after the node's last execution; `none`
                                  ///< where this is certainly the first
  ValueId executed;               ///< bool: whether the node was executed before; none: it was not
  ValueId first;                  ///< bool: whether no time has passed, so that states begin anew
  ValueId dt;
  const Replacements& replacements;
  const FunctionOptions& functions;
};

/// What it leaves behind, by position in the node.
struct StepResults {
  std::vector<ValueId> functions, parameters, outputs;
};

/// One execution of a node, as modeci_mdf does it: functions see the parameters' previous values;
/// the parameters are updated one after another, the later ones seeing the earlier ones' new
/// values; then the output ports. Throws Error naming port, function or parameter.
StepResults execute(ir::Builder&, const Node&, const StepInputs&);

/// The functions of a node in the order in which each finds those it reads.
std::vector<std::size_t> order_of_functions(const Node&);

/// Whether a parameter begins with an initial value rather than with its first update.
bool is_stateful(const Parameter&);

}  // namespace rondel::mdf
