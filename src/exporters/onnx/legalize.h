#pragma once
#include "ir/graph.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>

/// Legalization: rewrites the graph until every node is one node of ONNX in the opset.
namespace rondel::exporters {

/// The oldest opset from `from` on in which the node is one node of ONNX, unchanged; nothing if
/// there is none.
std::optional<int> least_opset(const ir::Graph&, const ir::Node&, int from);
/// The oldest opset from `from` on whose Identity takes a value of the type.
std::optional<int> least_opset_to_copy(const ir::Type&, int from);

/// The loops that are ONNX Scans, by NodeId.
using Scans = std::unordered_set<std::int32_t>;

/// Converts the loops that are ONNX Scans. Must run before every other rewrite, while the nodes
/// that assert equal extents of a Scan's inputs still exist. Afterwards those nodes may be dead.
Scans convert_scans(ir::Graph&);

/// Replaces each node that opset `opset` does not have: by the same node in a wider dtype, else by
/// its decomposition (decompositions.h). Loops that are not Scans get the form of ONNX's Loop. A
/// node without a replacement stays; writing it throws (`refuse`).
void legalize(ir::Graph&, const Scans&, int opset);

/// Throws the error for a node that the opset does not have. The error names the node, its op, the
/// reason and the oldest opset that has the node. If there is such an opset, it is the caller's
/// error, else unsupported.
[[noreturn]] void refuse(const ir::Graph&, ir::NodeId, const std::string& why_not, int opset);
/// The same for what is no node. `newer`: the oldest opset that can express it, if there is one.
[[noreturn]] void refuse(std::string what, const std::string& why_not, int opset,
                         std::optional<int> newer);

/// Whether an op can be exported at all: as the ONNX op of its name, or by a decomposition.
bool can_be_exported(const ir::OpDef&);

}  // namespace rondel::exporters
