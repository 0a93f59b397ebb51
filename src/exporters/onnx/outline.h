#pragma once
#include "exporters/onnx/model.h"

namespace rondel::exporters {

/// Protobuf's readers accept messages of 100 levels, which is a little more than 30 nested graphs.
/// Deeper loops and conditionals are outlined: they become functions of the model, and the values
/// that their graphs capture become inputs of the calls.
void outline_deep_graphs(Model&);

}  // namespace rondel::exporters
