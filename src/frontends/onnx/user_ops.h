#pragma once
#include <set>
#include <string>
#include <utility>

namespace rondel::onnx {

/// Whether ONNX itself, or Rondel for ONNX Runtime, defines the ops of a domain.
bool is_onnx_domain(const std::string& domain);
/// Whether one of ONNX's own domains has an op of this name, in its newest version.
bool defines(const std::string& domain, const std::string& name);
/// Whether Rondel has an op of a domain that is not ONNX's: com.microsoft.
bool converts(const std::string& domain, const std::string& name);

/// A serialized FunctionProto, from one or from ONNX's text form of a function. Throws
/// Error(caller) if it is neither.
std::string function_bytes(const std::string& bytes_or_text);

/// Domain and name of the user's ops in the model that this thread reads, or has read last.
using UsedOps = std::set<std::pair<std::string, std::string>>;
UsedOps& used_ops();

}  // namespace rondel::onnx
