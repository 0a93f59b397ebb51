#pragma once
#include "ir/graph.h"

#include <rondel/exporter.h>

#include <filesystem>

/// Export of graphs as standard ONNX. model.h turns a graph into a ModelProto.
namespace rondel::exporters {

/// The graph as a serialized ModelProto that onnx's checker has accepted. `info` is the model's
/// metadata. Throws Error: `caller` if the opset asked for cannot express the graph.
ExportedModel to_bytes(const ir::Graph&, const ModelInfo& info, const ExportOptions& = {});

/// The same as a file. External initializers are written to a second file beside it.
ExportReport to_file(const ir::Graph&, const ModelInfo& info, const std::filesystem::path& to,
                     const ExportOptions& = {});

}  // namespace rondel::exporters
