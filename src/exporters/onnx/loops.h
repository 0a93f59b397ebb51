#pragma once
#include "ir/graph.h"

#include <string>

/// The one loop as the two loops that ONNX has.
namespace rondel::exporters {

/// Why a loop is not an ONNX Scan; empty when it is one: it reads scans of one extent, whole, has
/// states that keep their shapes, and asks for nothing that Scan does not have.
std::string why_no_scan(const ir::Graph&, const ir::Node& loop);

/// Trip counts and conditions of two axes or more, or of unknown rank, as scalars: ONNX takes no
/// others.
void hold_scalars(ir::Graph&);

/// Makes an ONNX Scan of a loop that is one, and gives whether it is: what Scan says by itself
/// (equal extents, a trip count that is the extent) is not said again.
bool make_scan(ir::Graph&, ir::NodeId loop);

/// Brings a loop into the form of an ONNX Loop, with what Loop lacks written around it: no scans,
/// stacks on axis 0 in order, no extents, n not read, and a constant for the body's `go` where it
/// never decides. True: other nodes stand for it now; false: it has that form.
bool make_loop(ir::Graph&, ir::NodeId loop);

}  // namespace rondel::exporters
