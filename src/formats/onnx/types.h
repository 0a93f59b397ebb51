#pragma once
#include "formats/onnx/proto.h"
#include "ir/type.h"

#include <optional>
#include <string>

namespace rondel::onnx {

/// TensorProto's element type; nothing for those we do not have (and for 0 and numbers unknown).
std::optional<DType> dtype_of(std::int32_t data_type);
/// The same; an error naming the number where there is none.
DType require_dtype(std::int32_t data_type, std::string_view what);
std::int32_t data_type_of(DType);

/// A declared type. Shapes are as written; `what` names the value in errors. Maps, sparse tensors
/// and opaque types are not supported.
ir::Type type_of(const pb::TypeProto&, std::string_view what);
/// Whether the proto says an element type at all (exporters write empty ones).
bool declares_type(const pb::TypeProto&);
pb::TypeProto type_proto(const ir::Type&);

/// "tensor(float)", "seq(tensor(int64))": as ONNX's schemas write types.
std::string schema_text(const ir::Type&);

}  // namespace rondel::onnx
