#pragma once
#include "frontends/mdf/environment.h"
#include "frontends/mdf/function_options.h"

#include <span>
#include <string>
#include <string_view>

namespace rondel::mdf {

/// A function of MDF by its name ("linear", "onnx::Relu") of these arguments, each of which may
/// read the arguments before it and the names of the node. Throws Error: `caller` for a function or
/// an argument that there is not, `unsupported` for one that is not run here.
std::vector<ValueId> call_function(ir::Builder&, std::string_view function,
                                   std::span<const Argument>, const Environment&,
                                   std::span<const std::string> ports, const FunctionOptions&);

}  // namespace rondel::mdf
