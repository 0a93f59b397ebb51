#pragma once
#include <rondel/session.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// ONNX's operators as data, and graphs of them that are made node by node: what a language needs
/// that offers each operator as a function. Python's `rondel.functions.onnx` is made with it.
namespace rondel {

/// An input or output of an operator.
struct OperatorPort {
  enum class Form { single, optional, variadic };
  std::string name, doc;
  std::string type;                ///< "T", which ports of the same type share, or "tensor(int64)"
  std::vector<std::string> types;  ///< what it takes: "tensor(float)", ...
  Form form = Form::single;
  bool same_types = true;  ///< a variadic one: all of its values have one type
  int least = 1;           ///< a variadic one: how many values it has at least
};

/// A serialized GraphProto or ModelProto, the body of a loop or a branch.
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

/// An operator of ONNX's default domain. `runs`: Rondel has it.
struct Operator {
  std::string name, doc;
  int since_version = 0;
  bool runs = false, deprecated = false;
  std::vector<OperatorPort> inputs, outputs;
  std::vector<OperatorAttribute> attributes;  ///< by name
};

/// The newest opset.
RONDEL_API int newest_opset();
/// All operators of an opset, by name; also those that Rondel does not have. Throws Error(caller)
/// for an opset that there is not.
RONDEL_API std::vector<Operator> operators(int opset);

/// An ONNX graph that is made node by node. Each node is checked and typed when it is added, by the
/// rules that read a file. Not thread-safe.
///
/// The graph of a body is a writer of its own: names of the graph around it are first made known by
/// `capture`. All functions throw Error, as Session's constructor does.
class RONDEL_API GraphWriter {
 public:
  GraphWriter(const std::string& name, int opset);
  ~GraphWriter();
  GraphWriter(GraphWriter&&) noexcept;
  GraphWriter& operator=(GraphWriter&&) noexcept;

  void input(const PortInfo&);
  /// A name of a graph around this one.
  void capture(const PortInfo&);
  /// A constant of the graph. Its elements are copied.
  void constant(const std::string& name, const Tensor&);
  /// A node; empty names leave an input or output out. Gives the types of the outputs. After an
  /// error the graph is what it was before.
  std::vector<PortInfo> node(const std::string& op, const std::string& name,
                             const std::vector<std::string>& inputs,
                             const std::vector<std::string>& outputs,
                             const std::vector<std::pair<std::string, OperatorValue>>& attributes);
  void output(const std::string& name);

  /// The serialized GraphProto, for a body.
  std::string graph_bytes() const;
  /// The serialized ModelProto.
  std::string model_bytes() const;
  /// A session of the graph. The writer is used up.
  Session session(const SessionOptions&);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The graph of a serialized ModelProto, as a body for nodes of this opset; a model of another
/// opset, and one with functions, is written anew.
RONDEL_API GraphBytes body_of_model(std::span<const std::byte> model, int opset);
/// The names that a serialized GraphProto reads and does not define, in alphabetical order.
RONDEL_API std::vector<std::string> free_names(const GraphBytes&);
/// A serialized GraphProto of opset `written_in` as a body for nodes of `opset`.
RONDEL_API GraphBytes body_of_graph(const GraphBytes&, int written_in, int opset);
/// The same of a session's model.
RONDEL_API GraphBytes body_of_model(const Session&, int opset);

}  // namespace rondel
