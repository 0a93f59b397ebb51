#pragma once
#include "frontends/mdf/document.h"

#include <rondel/tensor.h>

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// An MDF model as its file has it, with types. What it means is in lower.h and the files it names.
namespace rondel::mdf {

/// A graph of ONNX, which an argument may be: `{onnx: TEXT}`.
struct OnnxGraph {
  std::string bytes;               ///< a serialized GraphProto
  std::vector<std::string> reads;  ///< names that it does not define
};

/// What stands where MDF takes a value: nothing, numbers, or a text (an expression, or a name).
/// Arguments may be graphs.
using Spec = std::variant<std::monostate, Tensor, std::string, OnnxGraph>;

inline bool is_given(const Spec& s) { return s.index() != 0; }

struct Argument {
  std::string name;
  Spec value;
};

enum class Reduce : std::uint8_t { overwrite, add, multiply };
/// As the file writes it.
std::string_view name(Reduce);

struct InputPort {
  std::string id;
  Spec default_value = {};
  Shape shape = {};
  Reduce reduce = Reduce::overwrite;
};

struct OutputPort {
  std::string id;
  Spec value = {};
};

/// `function` of `arguments`, or the expression `value`.
struct Function {
  std::string id, function = {};
  std::vector<Argument> arguments = {};
  Spec value = {};
};

/// One of `tests` in order: where `test` holds, the parameter is `value`.
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

  /// A value that is numbers, which nothing changes.
  bool is_constant() const { return std::holds_alternative<Tensor>(value) && conditions.empty(); }
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
  std::size_t sender = 0, sender_port = 0;      ///< a node, and one of its output ports
  std::size_t receiver = 0, receiver_port = 0;  ///< a node, and one of its input ports
  Tensor weight = {};                           ///< undefined: 1
};

/// A condition of the scheduler as the file has it; schedule.h reads its arguments.
struct Condition {
  std::string type;
  Document arguments = {};
};

struct Graph {
  std::string id;
  std::vector<Node> nodes = {};
  std::vector<Edge> edges = {};
  std::vector<std::optional<Condition>> conditions = {};            ///< of each node
  std::vector<std::pair<std::string, Condition>> termination = {};  ///< by time scale

  /// The number of a node; nothing where there is none of that name.
  std::optional<std::size_t> node(std::string_view id) const;
};

/// How errors name things: "node 'A'", "parameter 'level'".
std::string where(const Node&);
std::string where(const Parameter&);
std::string where(const Function&);
std::string where(const InputPort&);
std::string where(const OutputPort&);

/// The candidate that `wanted` may be a slip of: near, and at least half of its letters the same;
/// empty where there is none.
std::string near_name(std::string_view wanted, const std::vector<std::string>& candidates);

/// A text in quotes, for errors; a long one is cut.
std::string in_quotes(std::string_view text);

/// "did you mean 'x'?" or the names there are, to end an error about one that there is not.
std::string known_names(std::string_view wanted, const std::vector<std::string>& names);

/// Numbers, lists of them (which must be as long as each other) and texts. Throws Error(caller).
Spec read_spec(const Document&);

/// An object of a file and the name it has: the key it stands under, or its `id`.
struct Entry {
  std::string id;
  const Document* body;
};

/// The objects under a key: a map by name, or a list of objects with an `id`. Throws Error(caller).
std::vector<Entry> entries(const Document& of, std::string_view key);

/// The object with `graphs`: the document, or the one entry under the model's name. Throws
/// Error(caller) where there is none.
const Document& model_in(const Document&);

/// The same, or `{onnx: TEXT}`.
Spec read_argument(const Document&);

/// The first graph of a model. Throws Error(caller) naming the node, port or edge at fault.
Graph read_graph(const Document&);

}  // namespace rondel::mdf
