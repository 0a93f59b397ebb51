#pragma once
#include "formats/onnx/proto.h"
#include "ir/graph.h"

#include <rondel/exporter.h>

#include <vector>

namespace rondel::exporters {

namespace pb = ::onnx;

/// A model whose initializers have no elements yet: they are embedded, or written beside it.
struct Model {
  pb::ModelProto proto;
  std::vector<Tensor> initializers;  ///< the elements, in the order of the graph's initializers
  ExportReport report;
};

/// The graph in ONNX of one opset: `options.opset`, or without one the least that is at least the
/// usual one and has each op of the graph as it is. Throws Error(caller) naming node and op where
/// an opset that was asked for cannot say it.
Model to_model(ir::Graph, const ModelInfo&, const ExportOptions& options);

/// Puts the elements into the model; they must fit a protobuf.
void embed(Model&);

}  // namespace rondel::exporters
