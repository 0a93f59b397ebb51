#pragma once
#include "ir/graph.h"

#include <string>
#include <vector>

namespace rondel::exporters {

/// ONNX requires a rank for every tensor that is a port (input or output) of a model. A port
/// without a rank becomes an optional that always holds the tensor; callers feed and get the same
/// arrays. Returns a note for each such port. Ports whose dtype the opset's optionals do not hold,
/// and inputs with a default, stay unchanged.
std::vector<std::string> wrap_unranked_ports(ir::Graph&, int opset);

/// The tensors instead of optionals that always hold them.
void unwrap_ports(ir::Graph&);

}  // namespace rondel::exporters
