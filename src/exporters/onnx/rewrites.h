#pragma once
#include "ir/graph.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>

/// Where a graph is brought into a form in which every node is one node of ONNX.
namespace rondel::exporters {

/// The least opset from `from` on in which the node is one of ONNX as it stands; nothing where
/// there is none.
std::optional<int> least_opset(const ir::Graph&, const ir::Node&, int from);

/// The loops that are ONNX Scans, by NodeId.
using Scans = std::unordered_set<std::int32_t>;

/// Makes Scans of the loops that are. First of all: what makes sure of a Scan's extents is still
/// there to be seen, and is not read any more afterwards.
Scans make_scans(ir::Graph&);

/// Replaces each node that opset `opset` does not have by the small graph that says it: a row of
/// `rewrites.cpp`, else what its own op stands for. Loops that are no Scans get the form of ONNX's
/// Loop. What cannot be said stays as it is.
void make_sayable(ir::Graph&, const Scans&, int opset);

/// Throws the error that names a node which an opset does not have, its op, why, and the least
/// opset that would do: the caller's where there is one.
[[noreturn]] void refuse(const ir::Graph&, ir::NodeId, const std::string& why_not, int opset);

/// Whether an op has any way into ONNX: its own op, a row, or a graph it stands for.
bool can_be_said(const ir::OpDef&);

}  // namespace rondel::exporters
