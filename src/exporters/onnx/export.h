#pragma once
#include "ir/graph.h"

#include <rondel/exporter.h>

#include <filesystem>

/// Graphs become standard ONNX. The way out; `model.h` is where a graph becomes a ModelProto.
namespace rondel::exporters {

/// The graph as a serialized ModelProto that onnx's checker has accepted. `info` is what the model
/// says of itself. Throws Error: `caller` where the opset asked for cannot say the graph.
ExportedModel to_bytes(const ir::Graph&, const ModelInfo& info, const ExportOptions& = {});

/// The same as a file, its initializers beside it where they are external.
ExportReport to_file(const ir::Graph&, const ModelInfo& info, const std::filesystem::path& to,
                     const ExportOptions& = {});

}  // namespace rondel::exporters
