#pragma once
#include "formats/onnx/protos.h"
#include "frontends/onnx/tensor_loader.h"

#include <string>

namespace rondel::onnx {

/// An attribute's value; the loader reads tensors. Graphs are not accepted: the importer handles
/// them itself. `what` names node and attribute in errors.
ir::Attribute attribute_of(const pb::AttributeProto&, TensorLoader&, const std::string& what);

}  // namespace rondel::onnx
