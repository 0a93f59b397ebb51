#pragma once
#include "ir/graph.h"

#include <string>
#include <vector>

namespace rondel::exporters {

/// ONNX wants a rank of every tensor that a model takes or gives. One that has none becomes an
/// optional which always holds the tensor: the same is fed, and the same comes back. Returns a note
/// for each. Left as they are: what the opset's optionals do not hold, and inputs with a default.
std::vector<std::string> hold_unranked_ports(ir::Graph&, int opset);

}  // namespace rondel::exporters
