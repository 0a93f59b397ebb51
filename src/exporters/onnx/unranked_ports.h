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

/// The reverse, for a model that was written so: a port that is an optional of a tensor without a
/// rank, which each run takes out of it or puts into it, becomes the tensor.
void unwrap_ports(ir::Graph&);

}  // namespace rondel::exporters
