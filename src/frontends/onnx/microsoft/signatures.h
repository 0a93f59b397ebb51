#pragma once
#include "formats/onnx/schemas.h"

#include <string>
#include <string_view>
#include <vector>

/// The ops that ONNX Runtime's optimiser, quantiser and model builders write into files. The onnx
/// library has no schemas for them. They are only read, never written.
namespace rondel::onnx {

inline constexpr std::string_view microsoft_domain = "com.microsoft";
/// Ops whose layout depends on the processor, which are not read.
inline constexpr std::string_view nchwc_domain = "com.microsoft.nchwc";

/// The schema of one of these ops, in its only version, 1. Most are of com.microsoft, a few of
/// ai.onnx. Null if it is not in the table.
const pb::OpSchema* find_microsoft_schema(const std::string& op, const std::string& domain);

/// The schema by which the front end reads an op: `find_schema`, or if ONNX has none,
/// `find_microsoft_schema`.
const pb::OpSchema* find_readable_schema(const std::string& op, std::int64_t version,
                                         const std::string& domain);

/// The names of the table's ops of com.microsoft, sorted.
std::vector<std::string> microsoft_ops();

}  // namespace rondel::onnx
