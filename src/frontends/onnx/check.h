#pragma once
#include "formats/onnx/proto.h"

#include <rondel/session.h>

#include <vector>

namespace rondel::onnx {

/// Every op of the model (graphs of any depth, functions) that would not import, an error each:
/// op, domain, version, how often it occurs and the first node. Checks names and versions only.
std::vector<Finding> missing_ops(const pb::ModelProto&);
/// Whether one op would import, by its name and version only.
bool is_supported(const std::string& op, const std::string& domain, std::int64_t version);

}  // namespace rondel::onnx
