#pragma once
#include "ir/graph.h"

#include <string>

/// Conversion of our one loop into the two loops of ONNX, Scan and Loop.
namespace rondel::exporters {

/// Why a loop is not an ONNX Scan; empty if it is one. A Scan's scans have equal extents and are
/// read to their end, its states keep their shapes, and it uses nothing that Scan lacks.
std::string why_not_scan(const ir::Graph&, const ir::Node& loop);

/// Reshapes trip counts and conditions of rank 2 or more, or of unknown rank, to scalars, because
/// ONNX refuses them.
void reshape_control_inputs_to_scalars(ir::Graph&);

/// Converts a loop to an ONNX Scan if it is one; returns whether it is. Removes parts that a Scan
/// implies: the assertion of equal extents, the output n, which is the extent, and what computes a
/// condition that stops nothing.
bool convert_to_scan(ir::Graph&, ir::NodeId loop);

/// Converts a loop to the form of an ONNX Loop: no scans, stacks on axis 0 in trip order, no
/// extents, output n not read, and a constant for the body's `go` if `go` does not stop the loop.
/// Features that Loop lacks are expressed by nodes around the loop and in its body. Returns true if
/// the loop was replaced, false if it had that form already.
bool convert_to_loop(ir::Graph&, ir::NodeId loop);

}  // namespace rondel::exporters
