#include <rondel/operators.h>

#include "frontends/onnx/graph_writer.h"
#include "frontends/onnx/operators.h"
#include "session/from_graph.h"
#include "session/options.h"
#include "session/ports.h"

#include <rondel/exporter.h>

namespace rondel {
namespace {

GraphBytes rewritten(const auto& model, int opset) {
  ExportOptions options;
  options.opset = opset;
  return *onnx::plain_body(export_model(model, options).bytes, opset);
}

}  // namespace

int newest_opset() { return onnx::newest_opset(); }

std::vector<Operator> operators(int opset) { return onnx::operators(opset); }

struct GraphWriter::Impl {
  Impl(const std::string& name, int opset) : writer(name, opset) {}
  onnx::GraphWriter writer;
};

GraphWriter::GraphWriter(const std::string& name, int opset)
    : impl_(std::make_unique<Impl>(name, opset)) {}
GraphWriter::~GraphWriter() = default;
GraphWriter::GraphWriter(GraphWriter&&) noexcept = default;
GraphWriter& GraphWriter::operator=(GraphWriter&&) noexcept = default;

void GraphWriter::input(const PortInfo& p) { impl_->writer.input(p); }
void GraphWriter::capture(const PortInfo& p) { impl_->writer.capture(p); }
void GraphWriter::constant(const std::string& name, const Tensor& t) {
  impl_->writer.constant(name, t);
}

std::vector<PortInfo> GraphWriter::node(
    const std::string& op, const std::string& name, const std::vector<std::string>& inputs,
    const std::vector<std::string>& outputs,
    const std::vector<std::pair<std::string, OperatorValue>>& attributes) {
  std::vector<PortInfo> ports;
  const auto types = impl_->writer.node(op, name, inputs, outputs, attributes);
  for (std::size_t j = 0; j < types.size(); ++j)
    ports.push_back(session::port(outputs[j], types[j]));
  return ports;
}

void GraphWriter::output(const std::string& name) { impl_->writer.output(name); }
std::string GraphWriter::graph_bytes() const { return impl_->writer.graph_bytes(); }
std::vector<std::byte> GraphWriter::model_bytes() const { return impl_->writer.model_bytes(); }

Session GraphWriter::session(const SessionOptions& o) {
  frontends::Imported made = impl_->writer.imported();
  session::report_warnings(o, made.findings);
  return session::FromGraph::make(std::move(made.graph), std::move(made.info), o);
}

GraphBytes body_of_model(std::span<const std::byte> model, int opset) {
  const auto as_it_is = onnx::plain_body(model, opset);
  return as_it_is ? *as_it_is : rewritten(model, opset);
}

std::vector<std::string> free_names(const GraphBytes& graph) { return onnx::free_names(graph); }

GraphBytes body_of_graph(const GraphBytes& graph, int written_in, int opset) {
  if (written_in == opset) return graph;
  return body_of_model(onnx::model_of_graph(graph, written_in), opset);
}

GraphBytes body_of_model(const Session& s, int opset) { return rewritten(s, opset); }

}  // namespace rondel
