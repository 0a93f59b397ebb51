#pragma once
#include "frontends/mdf/environment.h"
#include "frontends/mdf/function_options.h"

#include <span>
#include <string>
#include <vector>

namespace rondel::mdf {

/// Compiles an ONNX op ("Relu") and returns all of its outputs. Inputs and attributes are taken by
/// name from the arguments, or else from the names of the node. A variadic input takes the elements
/// of a list "[x, y]", else the arguments, else the node's `ports`. A graph attribute is an
/// `OnnxGraph` argument, which can read names of the node.
std::vector<ValueId> call_onnx(ir::Builder&, const std::string& op, std::span<const Argument>,
                               const Environment&, std::span<const std::string> ports,
                               const FunctionOptions&);

}  // namespace rondel::mdf
