#pragma once
#include "frontends/mdf/document.h"

#include <rondel/tensor.h>

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// The typed syntax tree of an MDF model. Its semantics are in node_step.h, scheduler.h and
/// lower.h.
namespace rondel::mdf {

/// An ONNX graph as an argument: `{onnx: TEXT}`.
struct OnnxGraph {
  std::string bytes;               ///< a serialized GraphProto
  std::vector<std::string> reads;  ///< the free names of the graph
};

/// A value in a file: nothing, numbers, or a text (an expression or a name). Only arguments can be
/// graphs.
using Spec = std::variant<std::monostate, Tensor, std::string, OnnxGraph>;

inline bool is_given(const Spec& s) { return s.index() != 0; }

struct Argument {
  std::string name;
  Spec value;
};

enum class Reduce : std::uint8_t { overwrite, add, multiply };
/// The name of a reduction in the file.
std::string_view name(Reduce);

struct InputPort {
  std::string id;
  Spec default_value = {};
  Shape shape = {};
  DType dtype = DType::f64;  ///< of the zeros that a port without a default holds
  Reduce reduce = Reduce::overwrite;
};

struct OutputPort {
  std::string id;
  Spec value = {};
};

/// A call of `function` with `arguments`, or the expression `value`, which can read `arguments`.
struct Function {
  std::string id, function = {};
  std::vector<Argument> arguments = {};
  Spec value = {};
};

/// If `test` holds, the parameter becomes `value`. Conditions are applied in order.
struct ParameterCondition {
  std::string id;
  Spec test, value;
};

struct Parameter {
  std::string id;
  Spec value = {};
  std::string function = {};
  std::vector<Argument> arguments = {};
  Spec initial = {}, time_derivative = {};
  std::vector<ParameterCondition> conditions = {};

  /// Whether the value is numbers, before the first execution of the node and ever after.
  bool is_constant() const {
    return std::holds_alternative<Tensor>(value) && conditions.empty() && !is_given(initial);
  }
};

struct Node {
  std::string id;
  std::vector<InputPort> inputs = {};
  std::vector<Function> functions = {};
  std::vector<Parameter> parameters = {};
  std::vector<OutputPort> outputs = {};
};

struct Edge {
  std::string id;
  std::size_t sender = 0, sender_port = 0;      ///< indices of a node and its output port
  std::size_t receiver = 0, receiver_port = 0;  ///< indices of a node and its input port
  Tensor weight = {};                           ///< undefined means 1
};

/// A condition of the scheduler as in the file; read_condition.h interprets it.
struct Condition {
  std::string type;
  Document arguments = {};
};

struct Graph {
  std::string id;
  std::vector<Node> nodes = {};
  std::vector<Edge> edges = {};
  std::vector<std::optional<Condition>> conditions = {};            ///< by node
  std::vector<std::pair<std::string, Condition>> termination = {};  ///< by time scale

  /// The index of the node with this id, if there is one.
  std::optional<std::size_t> node(std::string_view id) const;
};

/// The frame of an error at this part: "node 'A'", "parameter 'level'".
std::string where(const Node&);
std::string where(const Parameter&);
std::string where(const Function&);
std::string where(const InputPort&);
std::string where(const OutputPort&);

/// The candidate that `wanted` may be a misspelling of: the closest one that shares at least half
/// of the letters. Empty if there is none.
std::string near_name(std::string_view wanted, const std::vector<std::string>& candidates);

/// A text in quotes, for errors; a long text is truncated.
std::string in_quotes(std::string_view text);

/// "did you mean 'x'?", or the list of valid names: the end of an error about an unknown name.
std::string known_names(std::string_view wanted, const std::vector<std::string>& names);

/// Reads a number, a nested list of numbers (which must be rectangular), or a text. Throws
/// Error(caller).
Spec read_spec(const Document&);

/// An object of a file and its name, which is its key or its `id`.
struct Entry {
  std::string id;
  const Document* body;
};

/// The objects under a key: a map from names, or a list of objects with an `id`. Throws
/// Error(caller).
std::vector<Entry> entries(const Document& of, std::string_view key);

/// The object that contains `graphs`: the document itself, or its single entry, whose key is the
/// model's name. Throws Error(caller) if there is none.
const Document& model_in(const Document&);

/// As `read_spec`, but also accepts `{onnx: TEXT}`.
Spec read_argument(const Document&);

/// Reads the first graph of a model. Throws Error(caller) that names the faulty node, port or edge.
Graph read_graph(const Document&);

}  // namespace rondel::mdf
