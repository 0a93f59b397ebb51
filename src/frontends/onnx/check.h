#pragma once
#include "formats/onnx/proto.h"

#include <rondel/session.h>

#include <vector>

namespace rondel::onnx {

/// One error for each op of the model (nested graphs and functions included) that would not import:
/// op, domain, version, number of occurrences and the first node. Checks names and versions only.
std::vector<Finding> missing_ops(const pb::ModelProto&);
/// Whether an op would import, by name and version only.
bool is_supported(const std::string& op, const std::string& domain, std::int64_t version);

}  // namespace rondel::onnx
