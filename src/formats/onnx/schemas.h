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

/// Versions imported, by domain ("" is ai.onnx).
using Opsets = std::map<std::string, std::int64_t>;
using OpsetImports = google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto>;

/// "" for "ai.onnx", which are the same domain.
std::string normal_domain(const std::string&);
/// "ai.onnx" for "".
std::string domain_text(const std::string&);

/// Reads opset imports; a version newer than the schemas', or below 1, is an error naming both.
Opsets read_opsets(const OpsetImports&, std::string_view what);

/// The newest version of a domain that the schemas know; 0 for an unknown domain.
int newest_version(const std::string& domain);

/// The op as it is in `version` of its domain; null where there is none.
const pb::OpSchema* find_schema(const std::string& op, std::int64_t version,
                                const std::string& domain);

}  // namespace rondel::onnx
