#pragma once
#include "formats/onnx/proto.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <onnx/defs/schema.h>
#pragma GCC diagnostic pop

#include <cstdint>
#include <map>
#include <string>

namespace rondel::onnx {

/// Imported versions by domain; "" is ai.onnx.
using Opsets = std::map<std::string, std::int64_t>;
using OpsetImports = google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto>;

/// The domain, with "" for its other spelling "ai.onnx".
std::string normal_domain(const std::string&);
/// The domain for texts, with "ai.onnx" for "".
std::string domain_text(const std::string&);

/// Reads opset imports. A version below 1 or newer than the newest schema is the caller's error,
/// which calls the importing model or function `what`.
Opsets read_opsets(const OpsetImports&, std::string_view what);

/// The newest version of a domain that the schemas know; 0 for an unknown domain.
int newest_version(const std::string& domain);

/// The schema of the op in `version` of its domain; null if there is none.
const pb::OpSchema* find_schema(const std::string& op, std::int64_t version,
                                const std::string& domain);

}  // namespace rondel::onnx
