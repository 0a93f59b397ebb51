#pragma once
#include "ir/builder.h"

#include <rondel/operators.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// ONNX's ops as functions, for other front ends. A call adds nodes to a graph under construction,
/// by the same rules as the import of a file.
namespace rondel::onnx {

/// The kind of an attribute's value.
enum class AttributeForm : std::uint8_t {
  integer,
  real,
  text,
  integers,
  reals,
  texts,
  graph,
  other
};

/// The signature of an op of ai.onnx, with the names of its schema.
struct OpForm {
  std::string name;
  int opset = 0;  ///< the opset in which it is called
  std::vector<std::string> inputs, outputs;
  bool variadic = false;  ///< the last input takes any number of values
  std::map<std::string, AttributeForm> attributes;
};

/// The op in the given opset; if that opset does not have it (or deprecates it), in the newest one.
/// Nothing if neither has it.
std::optional<OpForm> op_form(const std::string& name, int opset);

/// A graph for an attribute, and the values of the names that it captures.
struct GraphArgument {
  GraphBytes graph;
  std::map<std::string, ir::ValueId> captures;
};
using GraphArguments = std::map<std::string, GraphArgument>;

/// Adds the op to the builder's region and returns all its outputs. An input that is `none` is left
/// out; an output is `none` if the op does not have it with these attributes. The number of outputs
/// of `Loop`, `Scan` and `If` follows from their graphs. Inputs that must be constants, such as
/// axes, may be constants of the builder's graph. Throws Error as an import does.
std::vector<ir::ValueId> call_op(ir::Builder&, const OpForm&, std::span<const ir::ValueId> inputs,
                                 const ir::Attributes&, const GraphArguments& = {});

}  // namespace rondel::onnx
