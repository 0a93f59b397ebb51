#pragma once
#include "formats/onnx/protos.h"
#include "frontends/onnx/tensor_loader.h"

#include <string>

namespace rondel::onnx {

/// An attribute's value; tensors are read by the loader. Graphs are not values: the importer of
/// nodes handles them first. `what` names node and attribute.
ir::Attribute attribute_of(const pb::AttributeProto&, TensorLoader&, const std::string& what);

}  // namespace rondel::onnx
