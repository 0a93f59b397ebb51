#pragma once
#include "formats/onnx/proto.h"
#include "frontends/onnx/external.h"

#include <rondel/tensor.h>

#include <string_view>
#include <unordered_map>

namespace rondel::onnx {

/// Loads the tensors of a model: dense and sparse initializers, and attributes in nested graphs and
/// functions, with their data inside or outside the file. Loaded tensors are dense, and their
/// elements match their shape. No file outside the data folder is read. Throws Error(caller) naming
/// `what`.
class TensorLoader {
 public:
  explicit TensorLoader(DataFolder folder) : folder_(std::move(folder)) {}

  /// Each proto (by address) is read once: functions and loop bodies share their constants.
  Tensor tensor(const pb::TensorProto&, std::string_view what);
  Tensor sparse(const pb::SparseTensorProto&, std::string_view what);

 private:
  Tensor read(const pb::TensorProto&, const std::string& what);
  Tensor read_external(const pb::TensorProto&, DType, Shape, std::size_t bytes,
                       const std::string& what);

  DataFolder folder_;
  std::unordered_map<const void*, Tensor> read_;
};

}  // namespace rondel::onnx
