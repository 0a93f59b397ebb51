#pragma once
#include "frontends/mdf/environment.h"
#include "frontends/mdf/function_options.h"

#include <span>
#include <string>
#include <vector>

namespace rondel::mdf {

/// An op of ONNX by its name ("Relu"). Arguments, and where one is missing the names of the node,
/// stand for the op's inputs and attributes by their names. A variadic op takes the values of a
/// list "[x, y]", else its arguments, else the node's names in `ports`. Graphs are arguments of
/// their own form, and read names of the node. All outputs of the op.
std::vector<ValueId> call_onnx(ir::Builder&, const std::string& op, std::span<const Argument>,
                               const Environment&, std::span<const std::string> ports,
                               const FunctionOptions&);

}  // namespace rondel::mdf
