#pragma once
#include "ir/graph.h"

#include <string>
#include <vector>

namespace rondel::exporters {

/// ONNX has no op that ends a run. A Gather whose index is beyond its data is an error by ONNX's
/// own text, so where a condition does not hold, a result of the graph that it stands in is
/// gathered from beyond. Returns a note for each assertion that has no result to stand in the way
/// of.
std::vector<std::string> keep_assertions(ir::Graph&);

}  // namespace rondel::exporters
