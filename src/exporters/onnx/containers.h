#pragma once
#include "ir/graph.h"

namespace rondel::exporters {

/// ONNX has ops on sequences and optionals for tensors of its first dtypes only. Those of others
/// hold wider tensors instead, cast where they go in and where they come out. Throws where a port
/// of the model is such a value and a node makes or reads one.
void carry_containers(ir::Graph&, int opset);

}  // namespace rondel::exporters
