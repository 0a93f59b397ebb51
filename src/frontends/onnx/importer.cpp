#include "frontends/onnx/importer.h"

#include "base/text.h"
#include "formats/onnx/types.h"
#include "frontends/onnx/attributes.h"
#include "frontends/onnx/rules.h"
#include "frontends/onnx/user_ops.h"
#include "ir/loop_editor.h"

#include <algorithm>
#include <unordered_set>

namespace rondel::onnx {
namespace {

/// The limit for nested graphs, functions included. Protobuf limits the nesting in a file, but
/// functions could multiply it.
constexpr int max_depth = 128;
constexpr std::int64_t most_nodes = 2'000'000;

class DepthGuard {
 public:
  explicit DepthGuard(int& depth) : depth_(depth) {
    require(depth_ < max_depth, "graphs are nested deeper than {}", max_depth);
    ++depth_;
  }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  int& depth_;
};

const std::string* defined_by(const Nodes* nodes, const std::string& name) {
  if (nodes == nullptr) return nullptr;
  for (const pb::NodeProto& n : *nodes)
    for (const std::string& output : n.output())
      if (output == name) return &n.op_type();
  return nullptr;
}

/// Refuses an output of a node that is read, but not supported.
void require_computed(const std::string& name, const Scope& scope) {
  for (const Scope* s = &scope; s != nullptr; s = s->outer)
    if (const auto it = s->uncomputed.find(name); it != s->uncomputed.end())
      unsupported("'{}' is read; this output of {} is not supported", name, it->second);
}

/// Drops declared types of items that say no more than the types in the graph.
void forget_inferred_items(ir::Graph& g) {
  for (const ir::NodeId n : ir::loops_inside_out(g)) {
    ir::LoopEditor editor(g, n);
    for (std::size_t k = 0; k < editor.parts().stacks; ++k) {
      const ir::Type& inferred = g.value(editor.item(k)).type;
      if (ir::completed(inferred, editor.parts().declared[k]) == inferred)
        editor.set_declared(k, {});
    }
  }
}

}  // namespace

const ValueId* Scope::find(const std::string& name) const {
  for (const Scope* s = this; s != nullptr; s = s->outer)
    if (const auto it = s->names.find(name); it != s->names.end()) return &it->second;
  return nullptr;
}

Importer::Importer(std::shared_ptr<pb::ModelProto> model, DataFolder folder,
                   const ImportOptions& options)
    : model_(std::move(model)), options_(options), tensor_loader_(std::move(folder)) {
  require(options.loop_cond == "spec" || options.loop_cond == "honour",
          "loop_cond is '{}'; expected 'spec' or 'honour'", options.loop_cond);
}

Imported Importer::run() {
  root(begin());
  return finish();
}

Frame Importer::begin() {
  read_header();
  read_functions();
  Frame frame;
  frame.opsets = opsets_;
  return frame;
}

Imported Importer::finish() {
  for (std::size_t v = 0; v < graph().value_count(); ++v)
    graph().value(static_cast<ValueId>(v)).type = known_.types[v];
  forget_inferred_items(graph());
  return std::move(out_);
}

void Importer::read_header() {
  used_ops().clear();
  opsets_ = read_opsets(model_->opset_import(), "the model");
  // The first two IR versions had no opset imports.
  if (opsets_.empty() && model_->ir_version() < 3) opsets_[""] = 1;
  for (const auto& [domain, version] : opsets_) out_.opsets[domain_text(domain)] = version;
  out_.ir_version = static_cast<int>(model_->ir_version());
  out_.op_counts = count_ops(*model_);
  ModelInfo& info = out_.info;
  info.graph_name = model_->graph().name();
  info.producer_name = model_->producer_name();
  info.domain = model_->domain();
  info.description = model_->doc_string();
  info.graph_description = model_->graph().doc_string();
  info.version = model_->model_version();
  for (const auto& entry : model_->metadata_props())
    info.custom_metadata[entry.key()] = entry.value();
}

void Importer::read_functions() {
  for (const pb::FunctionProto& f : model_->functions()) {
    const bool added =
        functions_.emplace(function_key(f.domain(), f.name(), f.overload()), &f).second;
    require(added, "function {}.{} is defined twice", domain_text(f.domain()), f.name());
  }
}

/// Before version 4 of ONNX's files each initializer was listed as an input, too. These are no
/// inputs, as in ONNX Runtime; those of later versions are inputs with defaults.
void Importer::root(const Frame& frame) {
  const pb::GraphProto& g = model_->graph();
  const bool may_be_fed = model_->ir_version() >= 4;
  graph().name = g.name().empty() ? "graph" : g.name();
  Scope scope{nullptr, ir::RegionId::root, &g.node(), {}};
  std::unordered_map<std::string, Tensor> given;
  for (pb::TensorProto& t : *model_->mutable_graph()->mutable_initializer()) {
    given.insert_or_assign(t.name(), tensor_loader_.tensor(t, "initializer '" + t.name() + "'"));
    // The tensor loader keeps a copy; the original is freed so that weights are not held twice.
    if (t.has_raw_data()) delete t.release_raw_data();
  }
  for (const pb::SparseTensorProto& s : g.sparse_initializer())
    given.insert_or_assign(s.values().name(),
                           tensor_loader_.sparse(s, "initializer '" + s.values().name() + "'"));

  for (const pb::ValueInfoProto& input : g.input()) {
    const std::string what = "input '" + input.name() + "'";
    require(!input.name().empty(), "an input of the graph has no name");
    const auto value = given.find(input.name());
    const bool typed = declares_type(input.type());
    require(typed || value != given.end(), "{} has no type", what);
    const ir::Type type = typed ? type_of(input.type(), what) : ir::Type::of(value->second);
    if (value != given.end()) {
      require(ir::fits(ir::Type::of(value->second), type), "{} is {}, but its initializer is {}",
              what, ir::to_text(type), ir::to_text(ir::Type::of(value->second)));
      if (!may_be_fed) continue;
    }
    const ValueId id = param(ir::RegionId::root, type, input.name());
    if (value != given.end()) graph().defaults.emplace(id, value->second);
    graph().input_names.push_back(input.name());
    define(scope, input.name(), id);
  }
  graph().set_results(ir::RegionId::root, body(g, scope, frame));
  for (int j = 0; j < g.output_size(); ++j) {
    const pb::ValueInfoProto& output = g.output(j);
    const ValueId v = graph().root().results[static_cast<std::size_t>(j)];
    graph().output_names.push_back(output.name());
    if (!declares_type(output.type()) || map_keys_.contains(v)) {
      graph().declared_outputs.push_back(type(v));
      continue;
    }
    const ir::Type declared = type_of(output.type(), "output '" + output.name() + "'");
    // An output that is an optional may be declared with the type of its element.
    const bool bare = type(v).is_optional() && !declared.is_optional();
    require(schema_text(declared) == schema_text(bare ? type(v).element() : type(v)),
            "output '{}' is declared {} but is {}", output.name(), ir::to_text(declared),
            ir::to_text(type(v)));
    graph().declared_outputs.push_back(declared);
  }
  note_maps(g);
}

/// Lists of maps are no values here: rows of scores stand for them, and only at outputs of the
/// model.
void Importer::note_maps(const pb::GraphProto& g) {
  for (const auto& [v, keys] : map_keys_) {
    const auto& results = graph().root().results;
    const auto at = std::ranges::find(results, v);
    if (at == results.end() || graph().value(v).uses.size() != 1)
      unsupported(
          "{} (ZipMap): its maps are read by other nodes; they may only be an output of the model",
          ir::where(graph(), graph().value(v).producer));
    for (int j = 0; j < g.output_size(); ++j)
      if (results[static_cast<std::size_t>(j)] == v)
        out_.map_keys.emplace(g.output(j).name(), keys);
  }
}

/// Of several with one name, the last one counts, as in ONNX Runtime.
void Importer::initializers(const pb::GraphProto& g, Scope& scope) {
  std::unordered_map<std::string, int> count;
  std::unordered_set<std::string> defined;  // by initializers; not inputs
  const auto add = [&](const std::string& name, Tensor t) {
    const std::string what = "initializer '" + name + "'";
    if (++count[name] == 2)
      warn(what, "graph '" + g.name() + "' has several of this name; the last one is used");
    const bool again = defined.contains(name);
    if (!again && scope.names.contains(name)) return;  // the default of an input of the same name
    if (again) scope.names.erase(name);
    define(scope, name, constant(std::move(t), what, scope.region));
    defined.insert(name);
  };
  for (const pb::TensorProto& t : g.initializer()) {
    require(!t.name().empty(), "an initializer of graph '{}' has no name", g.name());
    add(t.name(), tensor_loader_.tensor(t, "initializer '" + t.name() + "'"));
  }
  for (const pb::SparseTensorProto& s : g.sparse_initializer()) {
    require(!s.values().name().empty(), "a sparse initializer of graph '{}' has no name", g.name());
    add(s.values().name(), tensor_loader_.sparse(s, "initializer '" + s.values().name() + "'"));
  }
}

std::vector<ValueId> Importer::body(const pb::GraphProto& g, Scope& scope, const Frame& frame) {
  const DepthGuard deeper(depth_);
  scope.nodes = &g.node();
  scope.declarations = {&g.value_info(), &g.output()};
  initializers(g, scope);
  nodes(g.node(), scope, frame);
  std::vector<ValueId> results;
  for (const pb::ValueInfoProto& output : g.output()) {
    const ValueId* v = scope.find(output.name());
    if (v == nullptr) require_computed(output.name(), scope);
    require(v != nullptr && *v != ValueId::none, "output '{}' of graph '{}' is never computed",
            output.name(), g.name());
    results.push_back(*v);
  }
  return results;
}

void Importer::nodes(const Nodes& list, Scope& scope, const Frame& frame) {
  for (const pb::NodeProto& n : list) read(n, scope, frame);
}

void Importer::read(const pb::NodeProto& n, Scope& scope, const Frame& frame) {
  const std::string source = fmt::format("node '{}' ({})", frame.prefix + name_of(n, frame),
                                         n.op_type());
  try {
    node(n, scope, frame, source);
  } catch (const Error& e) {
    // If functions and bodies are nested, the error names the innermost node only.
    if (!e.frames().empty()) throw;
    throw e.within(source);
  } catch (const std::bad_alloc&) { throw; } catch (const std::exception& e) {
    // An exception of the onnx library, thrown while it builds a function body.
    throw_error_at(Blame::caller, source, e.what());
  }
}

void Importer::node(const pb::NodeProto& n, Scope& scope, const Frame& frame,
                    const std::string& source) {
  if (++nodes_read_ > most_nodes)
    throw_error(Blame::limit, fmt::format("the model expands to more than {} nodes", most_nodes));
  const std::vector<ValueId> results = convert(n, scope, frame, source);
  const auto named = static_cast<std::size_t>(n.output_size());
  invariant(results.size() >= named, "{} gave {} of {} outputs", source, results.size(), named);
  for (std::size_t j = 0; j < named; ++j) {
    const std::string& name = n.output(static_cast<int>(j));
    if (name.empty()) continue;
    if (results[j] == ValueId::none) scope.uncomputed.emplace(name, n.op_type());
    else define(scope, name, results[j]);
  }
}

void Importer::define(Scope& scope, const std::string& name, ValueId v) {
  require(!scope.names.contains(name), "'{}' is defined twice in one graph", name);
  scope.names.emplace(name, v);
  if (v == ValueId::none) return;
  ir::ValueInfo& value = graph().value(v);
  if (value.name.empty()) value.name = name;
}

std::string Importer::name_of(const pb::NodeProto& n, const Frame&) const {
  if (!n.name().empty()) return n.name();
  for (const std::string& output : n.output())
    if (!output.empty()) return output;
  return n.op_type();
}

std::string Importer::not_found(const std::string& name, const Scope& scope) const {
  for (const Scope* s = &scope; s != nullptr; s = s->outer)
    if (const std::string* op = defined_by(s->nodes, name))
      return fmt::format("input '{}' is used before the node ({}) that defines it", name, *op);
  return fmt::format("input '{}' is not defined by any input, initializer or node", name);
}

std::vector<ValueId> Importer::resolve(const pb::NodeProto& n, const Scope& scope) const {
  std::vector<ValueId> inputs;
  for (const std::string& name : n.input()) {
    if (name.empty()) {
      inputs.push_back(ValueId::none);
      continue;
    }
    const ValueId* v = scope.find(name);
    if (v == nullptr) require_computed(name, scope);
    if (v == nullptr) fail("{}", not_found(name, scope));
    inputs.push_back(*v);
  }
  return inputs;
}

void Importer::note(std::string where, std::string message) {
  out_.findings.push_back({Finding::Level::note, std::move(where), std::move(message)});
}

void Importer::warn(std::string where, std::string message) {
  out_.findings.push_back({Finding::Level::warning, std::move(where), std::move(message)});
}

ValueId Importer::param(ir::RegionId r, ir::Type type, const std::string& name) {
  const ValueId v = graph().add_param(r, type, name);
  known_.types.cover(graph().value_count());
  known_.types[ir::index(v)] = std::move(type);
  return v;
}

ValueId Importer::constant(Tensor t, const std::string& source, ir::RegionId r) {
  const ValueId v = add_native(ir::op("constant"), {}, {{"value", t}}, 1, source, r)[0];
  known_.values[static_cast<std::int32_t>(v)] = std::move(t);
  return v;
}

std::vector<ValueId> Importer::add_native(const ir::OpDef& op, std::vector<ValueId> inputs,
                                          ir::Attributes attributes, std::size_t outputs,
                                          const std::string& source, ir::RegionId r) {
  while (!inputs.empty() && inputs.back() == ValueId::none) inputs.pop_back();
  const std::vector<ir::Type> unset(outputs);
  const ir::NodeId n = graph().add_node(r, op, std::move(attributes), std::move(inputs), unset);
  return inferred(n, source);
}

/// Infers the types of a node that has just been added; returns its outputs.
std::vector<ValueId> Importer::inferred(ir::NodeId n, const std::string& source) {
  graph().node(n).source = source;
  known_.types.cover(graph().value_count());
  ir::infer_node(graph(), n, known_);
  return graph().node(n).outputs;
}

std::vector<ValueId> Importer::add_loop(ir::LoopParts parts, std::vector<ValueId> inputs,
                                        ir::RegionId body, const std::string& source,
                                        ir::RegionId r) {
  const std::vector<ir::Type> unset(parts.output_count());
  return inferred(
      graph().insert_loop(r, ir::NodeId::none, std::move(parts), std::move(inputs), unset, {body}),
      source);
}

std::vector<ValueId> Importer::add_if(ValueId condition, std::vector<ir::RegionId> branches,
                                      std::size_t outputs, const std::string& source,
                                      ir::RegionId r) {
  const std::vector<ir::Type> unset(outputs);
  return inferred(graph().add_node(r, ir::op("if"), {}, {condition}, unset, std::move(branches)),
                  source);
}

}  // namespace rondel::onnx
