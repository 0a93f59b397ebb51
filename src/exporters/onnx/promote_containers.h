#pragma once
#include "ir/graph.h"

namespace rondel::exporters {

/// ONNX has ops on sequences and optionals of only some dtypes. Sequences and optionals of other
/// dtypes hold a wider dtype instead; tensors are cast when they are inserted and extracted. Throws
/// if an input or output of the model is such a sequence or optional and a node makes or reads one.
void promote_containers(ir::Graph&, int opset);

}  // namespace rondel::exporters
