#pragma once
#include "ir/graph.h"

#include <rondel/exporter.h>

namespace rondel::session {

/// A graph to export, and a note for the report.
struct ExportSource {
  ir::Graph graph;
  std::string note = {};
};

/// Of a canonical or compiled graph. One that draws is fed its seed like any other input, 0 where
/// it is left out, as it is when a session runs.
ExportSource with_seed(ir::Graph);

ExportedModel to_bytes(const ExportSource&, const ModelInfo&, const ExportOptions&);

}  // namespace rondel::session
