#pragma once
#include "frontends/onnx/gate.h"
#include "ir/attributes.h"

#include <string>

namespace rondel::onnx {

/// An attribute's value; tensors go through the gate. Graphs are not values: who imports nodes
/// deals with them first. `what` names node and attribute.
ir::Attribute attribute_of(const pb::AttributeProto&, Gate&, const std::string& what);

/// The kind the proto says, or, where an old file does not say one, the kind of what is in it.
pb::AttributeProto::AttributeType kind_of(const pb::AttributeProto&);

/// Whether the integer attribute `name` of an op holds one of ONNX's element types.
bool holds_dtype(std::string_view name);

/// The way back, for function bodies that the schemas build.
pb::AttributeProto attribute_proto(const std::string& name, const ir::Attribute&);

}  // namespace rondel::onnx
