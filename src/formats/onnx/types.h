#pragma once
#include "formats/onnx/proto.h"
#include "ir/type.h"

#include <optional>
#include <string>

namespace rondel::onnx {

/// The dtype of a TensorProto.DataType; nothing for a type that we do not have, and for 0.
std::optional<DType> dtype_of(std::int32_t data_type);
/// The same, but throws an error that names `what` and the number if there is no such dtype.
DType require_dtype(std::int32_t data_type, std::string_view what);
std::int32_t data_type_of(DType);

/// A declared type, with the declared shape; `what` names the value in errors. Maps, sparse tensors
/// and opaque types are not supported.
ir::Type type_of(const pb::TypeProto&, std::string_view what);
/// Whether the proto has an element type (some exporters write empty types).
bool declares_type(const pb::TypeProto&);
pb::TypeProto type_proto(const ir::Type&);

/// The type in the notation of ONNX's schemas: "tensor(float)", "seq(tensor(int64))".
std::string schema_text(const ir::Type&);

}  // namespace rondel::onnx
