#pragma once
#include "formats/onnx/proto.h"
#include "ir/attributes.h"

#include <string>

/// Conversion of tensors and attributes to protobuf messages. Only the front end's tensor loader
/// reads tensors.
namespace rondel::onnx {

/// Element type and extents, no elements.
pb::TensorProto tensor_header(const Tensor&);
/// The elements in the layout of `raw_data`: row-major, little-endian, 4- and 2-bit values packed.
/// Not for strings.
std::string packed_bytes(const Tensor&);
/// Header and elements.
pb::TensorProto tensor_proto(const Tensor&);

/// The declared kind of the attribute; in old files, which declare none, the kind of its contents.
pb::AttributeProto::AttributeType kind_of(const pb::AttributeProto&);
/// Whether no value is in a field of another kind.
bool holds_only(const pb::AttributeProto&, pb::AttributeProto::AttributeType kind);

/// Whether the integer attribute `name` of an op holds one of ONNX's element types.
bool holds_dtype(std::string_view name);

pb::AttributeProto attribute_proto(const std::string& name, const ir::Attribute&);

}  // namespace rondel::onnx
