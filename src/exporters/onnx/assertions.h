#pragma once
#include "ir/graph.h"

#include <string>
#include <vector>

namespace rondel::exporters {

/// Lowers assertions. ONNX has no op that ends a run, but by ONNX's own text a Gather with an index
/// beyond its data is an error. So a result of the graph around the assertion is gathered, at an
/// index that is out of bounds if the condition does not hold; or the result is made to depend on
/// such a Gather. The Gather is named after the assertion and its message. Returns a note for each
/// assertion whose graph has no result that could be gathered in this opset.
std::vector<std::string> lower_assertions(ir::Graph&, int opset);

/// Returns a note for each assertion of a graph that is exported without assertions.
std::vector<std::string> report_dropped_assertions(const ir::Graph&);

}  // namespace rondel::exporters
