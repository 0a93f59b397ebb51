#pragma once
#include "ir/builder.h"

#include <rondel/operators.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// ONNX's ops as functions of other languages: an op becomes nodes of a graph under construction,
/// by the rules by which a file is read.
namespace rondel::onnx {

/// What an attribute holds.
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

/// What an op of ONNX's own domain takes and gives, by the names of its schema.
struct OpForm {
  std::string name;
  int opset = 0;  ///< by which it is called
  std::vector<std::string> inputs, outputs;
  bool variadic = false;  ///< any number of values stand for its last input
  std::map<std::string, AttributeForm> attributes;
};

/// An op as it is in an opset, or, where it came later, in the newest one. Nothing where there is
/// none.
std::optional<OpForm> op_form(const std::string& name, int opset);

/// A graph as attribute, and the values of the names that it reads and does not define.
struct GraphArgument {
  GraphBytes graph;
  std::map<std::string, ir::ValueId> captures;
};
using GraphArguments = std::map<std::string, GraphArgument>;

/// The op of these values (`none`: left out), in the builder's region: all of its outputs, `none`
/// for those that it does not have with these attributes; those of `Loop`, `Scan` and `If` are as
/// many as their graphs give. Values that are constants of the graph
/// may stand for axes, shapes and the like. Throws Error as an import does.
std::vector<ir::ValueId> call_op(ir::Builder&, const OpForm&, std::span<const ir::ValueId> inputs,
                                 const ir::Attributes&, const GraphArguments& = {});

}  // namespace rondel::onnx
