#pragma once
#include "frontends/mdf/environment.h"
#include "frontends/mdf/function_options.h"

#include <span>
#include <string>
#include <string_view>

namespace rondel::mdf {

/// Compiles a call of an MDF function ("linear", "onnx::Relu") and returns all of its outputs. An
/// argument can read the arguments before it and the names of the node. `ports`: the ids of the
/// node's input ports. Throws Error: `caller` for an unknown function or argument, `unsupported`
/// for a function that is not implemented.
std::vector<ValueId> call_function(ir::Builder&, std::string_view function,
                                   std::span<const Argument>, const Environment&,
                                   std::span<const std::string> ports, const FunctionOptions&);

}  // namespace rondel::mdf
