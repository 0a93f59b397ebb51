#pragma once
#include "ir/graph.h"

#include <string>

/// Conversion of our one loop into the two loops of ONNX, Scan and Loop.
namespace rondel::exporters {

/// Why a loop is not an ONNX Scan; empty when it is one. A Scan reads scans of one extent to their
/// end, has states that keep their shapes, and uses nothing that Scan lacks.
std::string why_not_scan(const ir::Graph&, const ir::Node& loop);

/// Reshapes trip counts and conditions that have two axes or more, or an unknown rank, to scalars:
/// ONNX takes no others.
void reshape_control_inputs_to_scalars(ir::Graph&);

/// Converts a loop to an ONNX Scan where it is one; returns whether it is. What Scan implies (equal
/// extents, a trip count that is the extent) is removed.
bool convert_to_scan(ir::Graph&, ir::NodeId loop);

/// Converts a loop to the form of an ONNX Loop: no scans, stacks on axis 0 in order, no extents, n
/// not read, and a constant for the body's `go` where `go` never decides. What Loop lacks is
/// written around it. Returns true when other nodes replaced the loop, false when it has that form
/// already.
bool convert_to_loop(ir::Graph&, ir::NodeId loop);

}  // namespace rondel::exporters
