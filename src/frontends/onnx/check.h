#pragma once
#include "formats/onnx/proto.h"

#include <rondel/session.h>

#include <vector>

namespace rondel::onnx {

/// Every op of the model (graphs of any depth, functions) that would not import, an error each:
/// op, domain, version, how often it occurs and the first node. Checks names and versions only.
std::vector<Finding> missing_ops(const pb::ModelProto&);

}  // namespace rondel::onnx
