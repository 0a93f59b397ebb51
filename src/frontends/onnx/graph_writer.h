#pragma once
#include "frontends/onnx/import.h"
#include "ir/type.h"

#include <rondel/operators.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rondel::onnx {

/// Builds a GraphProto and imports it at the same time: each node is checked and its types are
/// inferred as soon as it is added. See rondel::GraphWriter.
class GraphWriter {
 public:
  GraphWriter(const std::string& name, int opset);
  ~GraphWriter();

  void input(const PortInfo&);
  void capture(const PortInfo&);
  void constant(const std::string& name, const Tensor&);
  /// Returns the types of the outputs; an output that is left out has a type of kind none.
  std::vector<ir::Type> node(const std::string& op, const std::string& name,
                             const std::vector<std::string>& inputs,
                             const std::vector<std::string>& outputs,
                             const std::vector<std::pair<std::string, OperatorValue>>& attributes);
  void output(const std::string& name);

  std::string graph_bytes() const;
  std::vector<std::byte> model_bytes() const;
  /// The imported graph. The writer must not be used afterwards.
  Imported imported();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A graph from ONNX's text form: "body (float x) => (float y) { y = Neg(x) }". Throws
/// Error(caller) with line and column.
GraphBytes graph_of_text(const std::string&);

/// The free names of a serialized GraphProto: those that it reads and does not define.
std::vector<std::string> free_names(const GraphBytes&);

/// A serialized ModelProto that contains the graph and imports the opset.
std::vector<std::byte> model_of_graph(const GraphBytes&, int opset);

/// The graph of a model, if the model imports this opset only and has no functions; else nothing.
std::optional<GraphBytes> plain_body(std::span<const std::byte> model, int opset);

}  // namespace rondel::onnx
