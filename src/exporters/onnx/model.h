#pragma once
#include "formats/onnx/proto.h"
#include "ir/graph.h"

#include <rondel/exporter.h>

#include <vector>

namespace rondel::exporters {

namespace pb = ::onnx;

/// A model whose initializers do not have their elements yet. The elements are embedded later, or
/// written to a file beside the model.
struct Model {
  pb::ModelProto proto;
  std::vector<Tensor> initializers;  ///< the elements, in the order of the graph's initializers
  ExportReport report;
};

/// The graph as a model of one opset: `options.opset`; by default, the oldest opset from
/// `usual_opset` on that has every op of the graph. Throws Error(caller), naming node and op, if
/// the opset asked for cannot express the graph.
Model to_model(ir::Graph, const ModelInfo&, const ExportOptions& options);

/// Embeds the elements in the model. The model must fit into a protobuf (2 GiB).
void embed(Model&);

}  // namespace rondel::exporters
