#pragma once
#include "frontends/onnx/import.h"
#include "ir/type.h"

#include <rondel/operators.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rondel::onnx {

/// A GraphProto that is read while it is made: each node is checked and typed as soon as it is
/// added. See rondel::GraphWriter.
class GraphWriter {
 public:
  GraphWriter(const std::string& name, int opset);
  ~GraphWriter();

  void input(const PortInfo&);
  void capture(const PortInfo&);
  void constant(const std::string& name, const Tensor&);
  /// The types of the outputs; of kind none where one is left out.
  std::vector<ir::Type> node(const std::string& op, const std::string& name,
                             const std::vector<std::string>& inputs,
                             const std::vector<std::string>& outputs,
                             const std::vector<std::pair<std::string, OperatorValue>>& attributes);
  void output(const std::string& name);

  std::string graph_bytes() const;
  std::string model_bytes() const;
  /// The graph as read; the writer is used up.
  Imported imported();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A graph from ONNX's text form of one: "body (float x) => (float y) { y = Neg(x) }". Throws
/// Error(caller) with line and column.
GraphBytes graph_of_text(const std::string&);

/// The names that a serialized GraphProto reads and does not define.
std::vector<std::string> free_names(const GraphBytes&);

/// A serialized ModelProto of a graph, in an opset.
std::string model_of_graph(const GraphBytes&, int opset);

/// The graph of a model that imports this opset and nothing else; of other models nothing.
std::optional<GraphBytes> plain_body(std::span<const std::byte> model, int opset);

}  // namespace rondel::onnx
