#pragma once

namespace rondel::mdf {

/// Options of how `onnx::` functions compute.
struct FunctionOptions {
  /// Inputs of f64 become f32, and the result f64 again, as modeci_mdf does; else they stay f64.
  bool single_precision = true;
};

}  // namespace rondel::mdf
