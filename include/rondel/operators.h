#pragma once
#include <rondel/handle.h>
#include <rondel/session.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// ONNX's operators as data, and graphs that are built node by node: what a language binding needs
// to offer each operator as a function. Python's `rondel.functions.onnx` is built on this header.
namespace rondel {

/// An input or output of an operator.
struct OperatorPort {
  enum class Form { single, optional, variadic };
  std::string name, doc;
  /// A type variable, "T", which ports of the same type share; or a type, "tensor(int64)".
  std::string type;
  std::vector<std::string> types;  ///< the accepted types: "tensor(float)", ...
  Form form = Form::single;
  bool same_types = true;  ///< variadic ports: whether all values have one type
  int least = 1;           ///< variadic ports: the minimum number of values
};

/// A serialized GraphProto: the body of a loop, or a branch.
struct GraphBytes {
  std::string bytes;
};
/// A type as ONNX's schemas write it: "seq(tensor(float))".
struct TypeText {
  std::string text;
};
using OperatorValue =
    std::variant<std::int64_t, double, std::string, Tensor, std::vector<std::int64_t>,
                 std::vector<double>, std::vector<std::string>, GraphBytes, TypeText>;

/// An attribute of an operator. `type`: "INT", "FLOATS", "GRAPH", ..., as ONNX calls them.
struct OperatorAttribute {
  std::string name, doc, type;
  bool required = false;
  std::optional<OperatorValue> default_value;
};

/// An operator of ONNX's default domain. `runs`: whether Rondel supports it.
struct Operator {
  std::string name, doc;
  int since_version = 0;
  bool runs = false, deprecated = false;
  std::vector<OperatorPort> inputs, outputs;
  std::vector<OperatorAttribute> attributes;  ///< sorted by name
};

/// The newest opset.
RONDEL_API int newest_opset();
/// All operators of an opset, sorted by name, including those that Rondel does not support. Throws
/// Error(caller) for an opset that does not exist.
RONDEL_API std::vector<Operator> operators(int opset);

/// Builds an ONNX graph node by node. Each node is checked and typed when it is added, by the same
/// rules as the nodes of a file. Not thread-safe.
///
/// Each body (subgraph) has a writer of its own; names that it reads from the enclosing graph must
/// first be declared with `capture`. All functions throw Error, as Session's constructor does.
class RONDEL_API GraphWriter {
 public:
  GraphWriter(const std::string& name, int opset);
  ~GraphWriter();
  GraphWriter(GraphWriter&&) noexcept;
  GraphWriter& operator=(GraphWriter&&) noexcept;

  void input(const PortInfo&);
  /// Declares a name of an enclosing graph.
  void capture(const PortInfo&);
  /// Adds a constant. Its elements are copied.
  void constant(const std::string& name, const Tensor&);
  /// Adds a node; an empty name omits an input or output. Returns the types of the outputs. After
  /// an error the graph is unchanged.
  std::vector<PortInfo> node(const std::string& op, const std::string& name,
                             const std::vector<std::string>& inputs,
                             const std::vector<std::string>& outputs,
                             const std::vector<std::pair<std::string, OperatorValue>>& attributes);
  void output(const std::string& name);

  /// The serialized GraphProto, for a body.
  std::string graph_bytes() const;
  /// The serialized ModelProto, which a Session opens.
  std::vector<std::byte> model_bytes() const;
  /// A session of the graph. The writer must not be used afterwards.
  Session session(const SessionOptions&);

 private:
  struct Impl;
  Handle<Impl> impl_;
};

/// The graph of a serialized ModelProto as a body for nodes of `opset`. A model of another opset or
/// with functions is converted.
RONDEL_API GraphBytes body_of_model(std::span<const std::byte> model, int opset);
/// The names that a serialized GraphProto reads and does not define, in alphabetical order.
RONDEL_API std::vector<std::string> free_names(const GraphBytes&);
/// A serialized GraphProto of opset `written_in` as a body for nodes of `opset`.
RONDEL_API GraphBytes body_of_graph(const GraphBytes&, int written_in, int opset);
/// A session's model as a body for nodes of `opset`.
RONDEL_API GraphBytes body_of_model(const Session&, int opset);

}  // namespace rondel
