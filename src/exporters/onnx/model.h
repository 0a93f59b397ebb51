#pragma once
#include "formats/onnx/proto.h"
#include "ir/graph.h"

#include <rondel/exporter.h>

#include <vector>

namespace rondel::exporters {

namespace pb = ::onnx;

/// A model whose initializers have no elements yet. The elements are embedded later, or written to
/// a file beside the model.
struct Model {
  pb::ModelProto proto;
  std::vector<Tensor> initializers;  ///< the elements, in the order of the graph's initializers
  ExportReport report;
};

/// The graph as a model of one opset: `options.opset`; without one, the least opset from the usual
/// one on that has every op of the graph. Throws Error(caller), naming node and op, where the opset
/// that was asked for cannot express the graph.
Model to_model(ir::Graph, const ModelInfo&, const ExportOptions& options);

/// Puts the elements into the model. The model must fit into a protobuf.
void embed(Model&);

}  // namespace rondel::exporters
