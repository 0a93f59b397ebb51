#pragma once
#include "frontends/mdf/environment.h"

#include <span>
#include <string>
#include <string_view>

namespace rondel::mdf {

/// Options of how `onnx::` functions compute.
struct FunctionOptions {
  /// Inputs of f64 become f32, and the result f64 again, as modeci_mdf does; else they stay f64.
  bool single_precision = true;
};

/// A function of MDF by its name ("linear", "onnx::Relu") of these arguments, each of which may
/// read the arguments before it and the names of the node. Throws Error: `caller` for a function or
/// an argument that there is not, `unsupported` for one that is not run here.
ValueId call_function(ir::Builder&, std::string_view function, std::span<const Argument>,
                      const Environment&, const FunctionOptions&);

}  // namespace rondel::mdf
