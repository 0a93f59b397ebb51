#pragma once
#include "ir/graph.h"

#include <rondel/exporter.h>

namespace rondel::session {

/// A graph to export, and a note for the report.
struct ExportSource {
  ir::Graph graph;
  std::string note = {};
};

/// Prepares a canonical or compiled graph for export. The seed of a graph with random ops becomes
/// an ordinary input with the default 0, as in a session's run.
ExportSource with_seed(ir::Graph);

ExportedModel to_bytes(const ExportSource&, const ModelInfo&, const ExportOptions&);

}  // namespace rondel::session
