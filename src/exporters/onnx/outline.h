#pragma once
#include "exporters/onnx/model.h"

namespace rondel::exporters {

/// Readers of protobuf take messages of 100 levels, which is a little more than 30 nested graphs.
/// Loops and conditionals below that depth are outlined: they become functions of the model, and
/// the values that their graphs capture become inputs of the calls.
void outline_deep_graphs(Model&);

}  // namespace rondel::exporters
