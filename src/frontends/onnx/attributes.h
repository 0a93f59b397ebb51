#pragma once
#include "formats/onnx/protos.h"
#include "frontends/onnx/gate.h"

#include <string>

namespace rondel::onnx {

/// An attribute's value; tensors go through the gate. Graphs are not values: who imports nodes
/// deals with them first. `what` names node and attribute.
ir::Attribute attribute_of(const pb::AttributeProto&, Gate&, const std::string& what);

}  // namespace rondel::onnx
