#pragma once
#include "formats/onnx/proto.h"

#include <string>

namespace rondel::onnx {

/// Parses a graph in ONNX's text form: "g (float x) => (float y) { y = Neg(x) }". Throws
/// Error(caller) with line and column.
pb::GraphProto graph_in_text(const std::string&);

}  // namespace rondel::onnx
