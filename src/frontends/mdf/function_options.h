#pragma once

namespace rondel::mdf {

/// Options for `onnx::` functions.
struct FunctionOptions {
  /// Computes in f32, as modeci_mdf does: f64 inputs are cast to f32, and results back to f64. If
  /// false, f64 stays f64.
  bool single_precision = true;
};

}  // namespace rondel::mdf
