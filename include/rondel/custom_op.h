#pragma once
#include <rondel/operators.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// Ops of the user's own. A registered op is found by its domain and name in every ONNX model that
// is read afterwards, whatever version of the domain the model imports.
namespace rondel {

/// One extent of a shape: a number; a name or expression over names, which equal extents share; or
/// unknown.
using PartialExtent = std::variant<std::monostate, std::int64_t, std::string>;
/// The type of a tensor as far as it is known. No shape: the rank is unknown.
struct PartialType {
  DType dtype = DType::f32;
  std::optional<std::vector<PartialExtent>> shape = {};
};

/// The attributes of a node, with the kinds that they have in the file. Defaults are the op's own
/// affair: an attribute that the node does not have is not here.
using NodeAttributes = std::map<std::string, OperatorValue>;

/// A node whose types are asked for. `inputs`: nothing for an input that is left out.
struct CustomNode {
  const NodeAttributes& attributes;
  std::span<const std::optional<PartialType>> inputs;
  std::size_t outputs = 0;  ///< how many outputs the node has
};

/// One call of a custom op.
class RONDEL_API CustomCall {
 public:
  virtual ~CustomCall() = default;
  virtual const NodeAttributes& attributes() const = 0;
  /// The inputs, with any strides; an undefined tensor is left out. They must not be written, and
  /// may be read during the call only.
  virtual std::span<const Tensor> inputs() const = 0;
  virtual std::size_t output_count() const = 0;
  /// Output j as a row-major tensor to be written, from the memory of the run. Throws Error if the
  /// type contradicts the type rule, or if the run's memory budget is used up.
  virtual Tensor output(std::size_t j, DType, const Shape&) = 0;
  /// Copies a tensor to output j. Throws as `output` does.
  void set(std::size_t j, const Tensor& t) { output(j, t.dtype(), t.shape()).assign(t); }
  /// Whether the run has been stopped (deadline, cancellation). A call that takes long asks from
  /// time to time, and then returns early.
  virtual bool stopping() const = 0;
};

/// An op of the user's own. It has either `run`, or `body`.
///
/// Functions are called on any thread, also on several at once. An exception that is no
/// rondel::Error becomes an Error(caller) with the node, the op and the types of the inputs, and is
/// what `take_cause` gives.
struct CustomOp {
  std::string domain;  ///< not one of ONNX's own: "my.ops"
  std::string name;    ///< "Triple"

  /// The type rule: gives the type of each output (more than the node has is allowed). It must
  /// work with partial types, and is asked again with exact ones for each new shape. Not set:
  /// outputs have the dtypes, ranks and numbers that the model declares for them; an output
  /// that it does not declare has the dtype of the first input and any shape.
  std::function<std::vector<PartialType>(const CustomNode&)> types = {};
  /// The meaning as a kernel: sets every output. Called once for each run of the node, in each trip
  /// of the loops around it, and never while a model is compiled unless `pure` is set.
  std::function<void(CustomCall&)> run = {};
  /// The meaning as a graph: a serialized ONNX FunctionProto, or one in ONNX's text form. The op
  /// then runs, is compiled, differentiated and exported as its nodes are.
  std::string body = {};
  /// Whether equal inputs give equal outputs and a call has no effect. Such an op may be called
  /// while a model is compiled (constant inputs), and once for several equal calls.
  bool pure = false;
  /// The gradient: a kernel that sets one output for each input, its adjoint, which has the type of
  /// the input. Its inputs are those of the op, its outputs, and the adjoint of each output. Only
  /// adjoints of inputs of floats are used; `output_count()` is the number of inputs.
  ///
  /// Models that `grad` writes hold it as the op `<name>Grad` of the same domain, which is
  /// registered, too.
  std::function<void(CustomCall&)> gradient = {};
};

/// Registers an op. Sessions that exist keep what they have; the op and what its functions hold
/// live until the process ends, also if it is replaced or removed. Throws Error(caller) if the
/// domain or name is empty or ONNX's own, if an op of that name is registered already, or is one of
/// com.microsoft that Rondel has, and `replace` is false, or if the op has neither or both of `run`
/// and `body`. Safe to call from any thread.
RONDEL_API void register_op(CustomOp, bool replace = false);
/// Removes an op (and its gradient). Returns false if there is none.
RONDEL_API bool unregister_op(const std::string& domain, const std::string& name);
/// Domain and name of each registered op, sorted; without gradients.
RONDEL_API std::vector<std::pair<std::string, std::string>> registered_ops();

/// Domain and name of the registered ops in the model that this thread read last, sorted.
RONDEL_API std::vector<std::pair<std::string, std::string>> ops_of_last_model();
/// The exception of a user's function that this error reports; null if it reports none. To be
/// called once, on the thread that caught the error.
RONDEL_API std::exception_ptr take_cause(const Error&);

}  // namespace rondel
