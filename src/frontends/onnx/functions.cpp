// Expands functions where they are called: the model's functions, and function bodies of ONNX ops.
#include "base/text.h"
#include "formats/onnx/types.h"
#include "frontends/onnx/attributes.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/rules/control.h"

namespace rondel::onnx {
namespace {

constexpr int deepest_call = 100;
constexpr std::int64_t most_expansions = 10'000;

/// "a -> b -> a" if `f` is being expanded already; else empty.
std::string cycle(const Frame& frame, const pb::FunctionProto& f) {
  std::string path = f.name();
  for (const Frame* at = &frame; at != nullptr; at = at->caller) {
    if (at->function == nullptr) continue;
    path = at->function->name() + " -> " + path;
    if (at->function == &f) return path;
  }
  return {};
}

/// The domain of nodes that stand for graph attributes in the bodies of ONNX's functions.
constexpr const char* stand_in_domain = "rondel.graph";

/// A graph of one node, which stands for `given`: ONNX's builders copy the nodes of a graph into
/// the body, where its names, attributes and opsets would be those of the body.
pb::GraphProto stand_in(const std::string& attribute, const pb::GraphProto& given) {
  pb::GraphProto graph;
  graph.set_name(given.name());
  pb::NodeProto& node = *graph.add_node();
  node.set_name(attribute);
  node.set_op_type(attribute);
  node.set_domain(stand_in_domain);
  for (const pb::ValueInfoProto* input : free_inputs(given)) {
    node.add_input(fmt::format("{}.input{}", attribute, node.input_size()));
    pb::ValueInfoProto& formal = *graph.add_input();
    formal = *input;
    formal.set_name(node.input(node.input_size() - 1));
  }
  for (const pb::ValueInfoProto& output : given.output()) {
    node.add_output(fmt::format("{}.output{}", attribute, node.output_size()));
    pb::ValueInfoProto& formal = *graph.add_output();
    formal = output;
    formal.set_name(node.output(node.output_size() - 1));
  }
  return graph;
}

}  // namespace

std::string function_key(const std::string& domain, const std::string& name,
                         const std::string& overload) {
  return normal_domain(domain) + '\0' + name + '\0' + overload;
}

const pb::FunctionProto* Importer::local_function(const pb::NodeProto& n) const {
  if (functions_.empty()) return nullptr;
  const auto it = functions_.find(function_key(n.domain(), n.op_type(), n.overload()));
  return it == functions_.end() ? nullptr : it->second;
}

std::vector<ValueId> Importer::call_function(const pb::NodeProto& n, const pb::FunctionProto& f,
                                             std::span<const ValueId> inputs, Frame frame,
                                             Scope& at) {
  require(frame.depth < deepest_call, "functions call each other deeper than {}", deepest_call);
  const auto formal = static_cast<std::size_t>(f.input_size());
  require(inputs.size() <= formal, "{} inputs are given; function {} takes {}", inputs.size(),
          f.name(), formal);
  require(n.output_size() <= f.output_size(), "{} outputs are named; function {} gives {}",
          n.output_size(), f.name(), f.output_size());
  Scope scope{nullptr, at.region, &f.node(), {}, {&f.value_info()}};
  for (std::size_t k = 0; k < formal; ++k)
    define(scope, f.input(static_cast<int>(k)), k < inputs.size() ? inputs[k] : ValueId::none);
  nodes(f.node(), scope, frame);
  std::vector<ValueId> results;
  for (int j = 0; j < n.output_size(); ++j) {
    const ValueId* v = scope.find(f.output(j));
    const bool computed = v != nullptr && *v != ValueId::none;
    require(computed || n.output(j).empty(), "function {} never computes its output '{}'", f.name(),
            f.output(j));
    results.push_back(computed ? *v : ValueId::none);
  }
  return results;
}

std::vector<ValueId> Importer::call_local(const pb::NodeProto& n, const pb::FunctionProto& f,
                                          Scope& scope, const Frame& caller, const std::string&) {
  const std::string path = cycle(caller, f);
  require(path.empty(), "function {} calls itself: {}", f.name(), path);
  require(++expansions_ <= most_expansions, "functions are called more than {} times",
          most_expansions);
  Frame frame;
  frame.caller = &caller;
  frame.function = &f;
  frame.opsets = read_opsets(f.opset_import(), "function " + f.name());
  if (frame.opsets.empty()) frame.opsets = caller.opsets;
  frame.prefix = caller.prefix + name_of(n, caller) + "/";
  frame.depth = caller.depth + 1;
  auto bound = bindings(n, scope, caller);
  for (const auto& [name, binding] : bound) {
    bool formal = false;
    for (const std::string& a : f.attribute()) formal = formal || a == name;
    for (const auto& a : f.attribute_proto()) formal = formal || a.name() == name;
    require(formal, "attribute '{}' is not one of function {}", name, f.name());
    frame.attributes.emplace(name, binding);
  }
  for (const auto& a : f.attribute_proto())
    frame.attributes.emplace(a.name(), Binding{&a, nullptr, &caller});
  return call_function(n, f, resolve(n, scope), std::move(frame), scope);
}

const pb::FunctionProto* Importer::built_in_body(const pb::OpSchema& schema, std::int64_t opset,
                                                 const pb::NodeProto& node,
                                                 std::span<const ValueId> inputs, BodyEdit edit) {
  const int version = static_cast<int>(opset);
  const auto kept = [&](pb::FunctionProto f) {
    if (edit != nullptr) edit(f);
    return &made_bodies_.emplace_back(std::move(f));
  };
  if (schema.HasFunction())
    if (const pb::FunctionProto* f = schema.GetFunction(version))
      return edit == nullptr ? f : kept(*f);
  if (!schema.HasContextDependentFunction()) return nullptr;
  std::vector<pb::TypeProto> types;
  for (const ValueId v : inputs)
    types.push_back(v == ValueId::none ? pb::TypeProto() : type_proto(type(v)));
  const pb::FunctionBodyBuildContextImpl context(node, types);
  pb::FunctionProto body;
  if (!schema.BuildContextDependentFunction(context, body, version)) return nullptr;
  return kept(std::move(body));
}

/// The graph for which a node of a body stands; nothing if it is another node.
std::optional<std::vector<ValueId>> Importer::call_stand_in(const pb::NodeProto& n,
                                                            const Scope& scope,
                                                            const Frame& frame) {
  if (!frame.built_in || n.domain() != stand_in_domain) return std::nullopt;
  return call_graph(*this, frame.attributes.at(n.op_type()), n.op_type(), resolve(n, scope),
                    scope.region);
}

std::vector<ValueId> Importer::call_written(const Call& c, const pb::FunctionProto& f,
                                            const std::vector<ValueId>& inputs,
                                            const ir::Attributes& attributes, ir::RegionId region) {
  pb::NodeProto& node = made_nodes_.emplace_back();
  node.set_op_type(f.name());
  for (const std::string& name : f.output()) node.add_output(name);
  for (const auto& [name, value] : attributes) *node.add_attribute() = attribute_proto(name, value);
  Frame frame;
  frame.caller = &c.frame;
  frame.function = &f;
  frame.opsets = read_opsets(f.opset_import(), f.name());
  frame.prefix = c.frame.prefix + name_of(c.node, c.frame) + "/";
  frame.depth = c.frame.depth + 1;
  frame.built_in = true;
  for (const auto& a : node.attribute())
    frame.attributes[a.name()] = Binding{&a, nullptr, &c.frame};
  Scope at{&c.scope, region, nullptr, {}};
  return call_function(node, f, inputs, std::move(frame), at);
}

std::optional<std::vector<ValueId>> Importer::own_body(const Call& c, BodyEdit edit) {
  const auto import = c.frame.opsets.find(c.schema.domain());
  const std::int64_t opset = import == c.frame.opsets.end() ? newest_version(c.schema.domain())
                                                            : import->second;
  return call_built_in(c, c.schema, opset, c.inputs, c.attributes, c.outputs, edit);
}

std::optional<std::vector<ValueId>> Importer::call_built_in(const Call& c,
                                                            const pb::OpSchema& schema,
                                                            std::int64_t opset,
                                                            const std::vector<ValueId>& inputs,
                                                            const ir::Attributes& attributes,
                                                            std::size_t outputs, BodyEdit edit) {
  if (!schema.HasFunction() && !schema.HasContextDependentFunction()) return std::nullopt;
  // The node for the schema's body builder: attributes resolved, inputs named by position.
  pb::NodeProto& node = made_nodes_.emplace_back();
  node.set_op_type(schema.Name());
  node.set_domain(schema.domain());
  for (std::size_t k = 0; k < inputs.size(); ++k)
    node.add_input(inputs[k] == ValueId::none ? "" : "i" + std::to_string(k));
  for (std::size_t j = 0; j < outputs; ++j) {
    const bool named = static_cast<int>(j) >= c.node.output_size() ||
                       !c.node.output(static_cast<int>(j)).empty();
    node.add_output(named ? "o" + std::to_string(j) : "");
  }
  for (const auto& [name, value] : attributes) *node.add_attribute() = attribute_proto(name, value);
  for (const auto& [name, binding] : c.graphs) {
    pb::AttributeProto& a = *node.add_attribute();
    a.set_name(name);
    a.set_type(pb::AttributeProto::GRAPH);
    *a.mutable_g() = stand_in(name, binding.attribute->g());
  }

  const pb::FunctionProto* f = built_in_body(schema, opset, node, inputs, edit);
  if (f == nullptr) return std::nullopt;
  Frame frame;
  frame.caller = &c.frame;
  frame.function = f;
  frame.opsets = read_opsets(f->opset_import(), "the body of " + schema.Name());
  frame.prefix = c.frame.prefix + name_of(c.node, c.frame) + "/";
  frame.depth = c.frame.depth + 1;
  frame.built_in = true;
  frame.attributes = c.graphs;
  for (const auto& a : node.attribute())
    frame.attributes.emplace(a.name(), Binding{&a, nullptr, &c.frame});
  for (const auto& [name, a] : schema.attributes())
    if (a.default_value.has_name())
      frame.attributes.emplace(name, Binding{&a.default_value, nullptr, &c.frame});
  return call_function(node, *f, inputs, std::move(frame), c.scope);
}

}  // namespace rondel::onnx
