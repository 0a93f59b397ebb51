#pragma once
#include "formats/onnx/schemas.h"
#include "frontends/onnx/import.h"
#include "frontends/onnx/tensor_loader.h"
#include "ir/infer.h"
#include "ir/user_op.h"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace rondel::onnx {

using ir::ValueId;
using Nodes = google::protobuf::RepeatedPtrField<pb::NodeProto>;

/// The names of one graph or function body. Scoping is lexical: other names are looked up in the
/// outer scope, where they must already be defined.
struct Scope {
  Scope* outer = nullptr;
  ir::RegionId region = ir::RegionId::root;
  const Nodes* nodes = nullptr;
  std::unordered_map<std::string, ValueId> names;
  using Declarations = google::protobuf::RepeatedPtrField<pb::ValueInfoProto>;
  std::vector<const Declarations*> declarations = {};  ///< of types of values
  /// Outputs of nodes that are not supported, with the op of the node.
  std::unordered_map<std::string, std::string> uncomputed = {};

  /// Null if the name is not defined. `ValueId::none` is a function's input that the call leaves
  /// out.
  const ValueId* find(const std::string& name) const;
};

struct Frame;

/// An attribute and the scope it was written in: a graph in the attribute sees that scope's names.
struct Binding {
  const pb::AttributeProto* attribute = nullptr;
  Scope* scope = nullptr;
  const Frame* frame = nullptr;
};

/// The context in which the nodes of a body are read. The model's own graphs share one frame; each
/// expansion of a function has its own.
struct Frame {
  const Frame* caller = nullptr;
  const pb::FunctionProto* function = nullptr;
  Opsets opsets;
  std::unordered_map<std::string, Binding> attributes;  ///< for `ref_attr_name`
  std::string prefix;                                   ///< prepended to node names
  int depth = 0;
  bool built_in = false;
};

class Importer;

/// One ONNX node during import, in the form that rules work on: inputs are resolved, attributes
/// converted.
class Call {
 public:
  Importer& importer;
  const pb::NodeProto& node;
  const pb::OpSchema& schema;
  Scope& scope;
  const Frame& frame;
  std::string op, source;
  std::vector<ValueId> inputs;  ///< `none`: left out; trailing ones are removed
  ir::Attributes attributes;
  std::unordered_map<std::string, Binding> graphs;
  std::size_t outputs = 0;

  int version() const { return schema.since_version(); }
  bool has(std::size_t k) const { return k < inputs.size() && inputs[k] != ValueId::none; }
  ValueId in(std::size_t k) const { return has(k) ? inputs[k] : ValueId::none; }
  /// Sets input k to `v`. Missing inputs before it become `none`.
  void set_input(std::size_t k, ValueId v);
  /// Removes the attribute and returns its value; nothing if it is absent.
  std::optional<ir::Attribute> take(std::string_view name);

  const ir::Type& type(ValueId) const;
  std::optional<std::int64_t> rank(ValueId) const;
  ValueId constant(Tensor) const;
  ValueId integers(const ir::Ints&) const;  ///< i64[n]
  ValueId integer(std::int64_t) const;      ///< i64[]
  ValueId number(DType, double) const;      ///< a scalar of the dtype
  /// Adds an op in its newest ONNX form and returns its outputs.
  std::vector<ValueId> add(const std::string& op, std::vector<ValueId> inputs, ir::Attributes = {},
                           std::size_t outputs = 1) const;
  /// The same, but returns the first output only.
  ValueId one(const std::string& op, std::vector<ValueId> inputs, ir::Attributes = {}) const;
  /// Adds the node's own op in its newest form, with the current inputs and attributes.
  std::vector<ValueId> newest() const { return add(op, inputs, attributes, outputs); }
};

/// Changes the body that ONNX has for an op.
using BodyEdit = void (*)(pb::FunctionProto&);

/// Reads one model into one graph.
class Importer {
 public:
  Importer(std::shared_ptr<pb::ModelProto>, DataFolder, const ImportOptions&);
  Imported run();

  // Instead of `run`, for a graph that is built while it is read (graph_writer.h): the header, then
  // nodes, then results.
  Frame begin();
  void read(const pb::NodeProto&, Scope&, const Frame&);
  Imported finish();

  // For rules and control flow.
  ir::Graph& graph() { return out_.graph; }
  const ImportOptions& options() const { return options_; }
  const ir::Type& type(ValueId v) const { return known_.types[ir::index(v)]; }
  void warn(std::string where, std::string message);
  void note(std::string where, std::string message);
  /// Adds one of our ops and infers the types of its outputs.
  std::vector<ValueId> add_native(const ir::OpDef&, std::vector<ValueId> inputs, ir::Attributes,
                                  std::size_t outputs, const std::string& source, ir::RegionId);
  /// Adds an op in its newest ONNX form: as our op or as its function body.
  std::vector<ValueId> add(const Call&, const std::string& op, std::vector<ValueId> inputs,
                           ir::Attributes, std::size_t outputs);
  /// Adds the function body that ONNX's schema defines for the op in the node's own version, after
  /// `edit` has changed it; nothing if the schema has none.
  std::optional<std::vector<ValueId>> own_body(const Call&, BodyEdit edit = nullptr);
  /// Adds the nodes of a function that a rule has written down, to a region inside the scope of the
  /// call; returns its outputs.
  std::vector<ValueId> call_written(const Call&, const pb::FunctionProto&,
                                    const std::vector<ValueId>& inputs, const ir::Attributes&,
                                    ir::RegionId);
  ValueId constant(Tensor, const std::string& source, ir::RegionId);
  ValueId param(ir::RegionId, ir::Type, const std::string& name);
  /// Imports a graph with bound inputs into the scope's region. Returns the graph's outputs.
  std::vector<ValueId> body(const pb::GraphProto&, Scope&, const Frame&);
  /// Adds a loop or an if with complete regions and infers the types of its outputs.
  std::vector<ValueId> add_loop(ir::LoopParts, std::vector<ValueId> inputs, ir::RegionId body,
                                const std::string& source, ir::RegionId);
  std::vector<ValueId> add_if(ValueId condition, std::vector<ir::RegionId> branches,
                              std::size_t outputs, const std::string& source, ir::RegionId);
  /// Notes that the rows of `v` are maps of these keys, which only an output of the model may be.
  void set_map_keys(ValueId v, Tensor keys) { map_keys_.emplace(v, std::move(keys)); }
  /// Binds an output name in the scope, once.
  void define(Scope&, const std::string& name, ValueId);

 private:
  std::vector<ValueId> inferred(ir::NodeId, const std::string& source);
  void read_header();
  void read_functions();
  void root(const Frame&);
  void note_maps(const pb::GraphProto&);
  void initializers(const pb::GraphProto&, Scope&);
  void nodes(const Nodes&, Scope&, const Frame&);
  void node(const pb::NodeProto&, Scope&, const Frame&, const std::string& source);
  std::vector<ValueId> convert(const pb::NodeProto&, Scope&, const Frame&,
                               const std::string& source);
  std::vector<ValueId> resolve(const pb::NodeProto&, const Scope&) const;
  std::unordered_map<std::string, Binding> bindings(const pb::NodeProto&, Scope&,
                                                    const Frame&) const;
  void read_attributes(Call&, const std::unordered_map<std::string, Binding>&);
  void check_signature(const Call&);
  void check_outputs(const Call&, std::span<const ValueId>);
  std::vector<ValueId> dispatch(Call&);
  std::vector<ValueId> call_function(const pb::NodeProto&, const pb::FunctionProto&,
                                     std::span<const ValueId> inputs, Frame, Scope& at);
  std::vector<ValueId> call_user_op(const pb::NodeProto&, const ir::UserOp&, std::int64_t version,
                                    Scope&, const Frame&, const std::string& source);
  ir::Attributes user_attributes(const pb::NodeProto&, Scope&, const Frame&);
  ir::TypeList declared_outputs(const pb::NodeProto&, const Scope&,
                                std::span<const ValueId> inputs) const;
  std::vector<ValueId> call_local(const pb::NodeProto&, const pb::FunctionProto&, Scope&,
                                  const Frame&, const std::string& source);
  std::optional<std::vector<ValueId>> call_built_in(const Call&, const pb::OpSchema&,
                                                    std::int64_t opset,
                                                    const std::vector<ValueId>& inputs,
                                                    const ir::Attributes&, std::size_t outputs,
                                                    BodyEdit = nullptr);
  const pb::FunctionProto* built_in_body(const pb::OpSchema&, std::int64_t opset,
                                         const pb::NodeProto&, std::span<const ValueId> inputs,
                                         BodyEdit);
  std::optional<std::vector<ValueId>> call_stand_in(const pb::NodeProto&, const Scope&,
                                                    const Frame&);
  ir::Attributes fitted(const ir::OpDef&, const pb::OpSchema* schema, ir::Attributes given) const;
  const pb::FunctionProto* local_function(const pb::NodeProto&) const;
  std::string name_of(const pb::NodeProto&, const Frame&) const;
  std::string not_found(const std::string& name, const Scope&) const;

  std::shared_ptr<pb::ModelProto> model_;
  ImportOptions options_;
  TensorLoader tensor_loader_;
  Imported out_;
  ir::TypeEnvironment known_;
  Opsets opsets_;
  std::unordered_map<std::string, const pb::FunctionProto*> functions_;
  std::map<ValueId, Tensor> map_keys_;
  /// Bodies and nodes created during the import. The tensor loader caches tensors by address, so
  /// all of them are kept until the import ends.
  std::deque<pb::FunctionProto> made_bodies_;
  std::deque<pb::NodeProto> made_nodes_;
  std::map<const ir::UserOp*, pb::FunctionProto> user_bodies_;
  std::int64_t expansions_ = 0, nodes_read_ = 0;
  int depth_ = 0;
};

/// Our op with the name of an ONNX op of a standard domain; null: none.
const ir::OpDef* native_op(const std::string& onnx_op);
/// The key under which a model-local function is looked up.
std::string function_key(const std::string& domain, const std::string& name,
                         const std::string& overload);
/// How often each ONNX op occurs in the file. Each graph and function body is counted once.
std::map<std::string, std::int64_t> count_ops(const pb::ModelProto&);

}  // namespace rondel::onnx
