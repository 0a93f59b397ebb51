#pragma once
#include "exporters/onnx/model.h"

namespace rondel::exporters {

/// Readers of protobuf take messages of 100 levels, a little more than 30 graphs in each other.
/// Loops and conditionals deeper than that become functions of the model, whose calls have what
/// the graphs capture for inputs.
void cut_nests(Model&);

}  // namespace rondel::exporters
