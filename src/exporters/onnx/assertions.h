#pragma once
#include "ir/graph.h"

#include <string>
#include <vector>

namespace rondel::exporters {

/// ONNX has no op that ends a run. A Gather whose index is beyond its data is an error by ONNX's
/// own text, so where a condition does not hold, a result of the graph that it stands in is
/// gathered from beyond, or made to depend on what is; the Gather has the assertion's name and
/// message for a name. Returns a note for each assertion that has no result to stand in the way of
/// in this opset.
std::vector<std::string> keep_assertions(ir::Graph&, int opset);

/// A note for each assertion, of a graph that is written without.
std::vector<std::string> note_assertions(const ir::Graph&);

}  // namespace rondel::exporters
