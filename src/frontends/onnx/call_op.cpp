#include "frontends/onnx/call_op.h"

#include "formats/onnx/protos.h"
#include "formats/onnx/schemas.h"
#include "formats/onnx/types.h"
#include "frontends/onnx/importer.h"
#include "ir/clone.h"

#include <algorithm>

namespace rondel::onnx {
namespace {

using Type = pb::AttributeProto;

AttributeForm form_of(Type::AttributeType type) {
  switch (type) {
    case Type::INT: return AttributeForm::integer;
    case Type::FLOAT: return AttributeForm::real;
    case Type::STRING: return AttributeForm::text;
    case Type::INTS: return AttributeForm::integers;
    case Type::FLOATS: return AttributeForm::reals;
    case Type::STRINGS: return AttributeForm::texts;
    case Type::GRAPH: return AttributeForm::graph;
    default: return AttributeForm::other;
  }
}

/// The number of outputs that are not optional; at least one.
std::size_t certain_outputs(const OpForm& op) {
  const pb::OpSchema* schema = find_schema(op.name, op.opset, "");
  const auto optional = std::ranges::count_if(schema->outputs(), [](const auto& output) {
    return output.GetOption() == pb::OpSchema::Optional;
  });
  return std::max<std::size_t>(1, op.outputs.size() - static_cast<std::size_t>(optional));
}

/// The name of input k. No graph in text form can contain this name.
std::string input_name(std::size_t k) { return fmt::format("#{}", k); }

/// Adds a value to the graph: a constant as an initializer, any other value as an input.
void add_value(pb::GraphProto& to, const std::string& name, const ir::Graph& g, ValueId v) {
  if (const Tensor* t = g.constant(v)) {
    *to.add_initializer() = tensor_proto(*t);
    to.mutable_initializer()->rbegin()->set_name(name);
    return;
  }
  pb::ValueInfoProto& input = *to.add_input();
  input.set_name(name);
  *input.mutable_type() = type_proto(g.value(v).type);
}

/// The inputs of the model that `model_of` builds, by name: the op's inputs and the captures.
std::map<std::string, ValueId> values_of(std::span<const ValueId> inputs,
                                         const GraphArguments& graphs) {
  std::map<std::string, ValueId> values;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k] != ValueId::none) values.emplace(input_name(k), inputs[k]);
  for (const auto& [name, argument] : graphs)
    values.insert(argument.captures.begin(), argument.captures.end());
  return values;
}

void add_graph(pb::NodeProto& to, const std::string& name, const GraphBytes& graph) {
  pb::AttributeProto& a = *to.add_attribute();
  a.set_name(name);
  a.set_type(pb::AttributeProto::GRAPH);
  require(a.mutable_g()->ParseFromString(graph.bytes), "attribute '{}' holds no graph", name);
}

/// A model with one node, whose inputs have the types of the values.
std::shared_ptr<pb::ModelProto> model_of(const ir::Graph& g, const OpForm& op,
                                         std::span<const ValueId> inputs,
                                         const ir::Attributes& attributes,
                                         const GraphArguments& graphs, std::size_t outputs) {
  auto model = std::make_shared<pb::ModelProto>();
  model->set_ir_version(pb::IR_VERSION);
  model->add_opset_import()->set_version(op.opset);
  pb::GraphProto& graph = *model->mutable_graph();
  pb::NodeProto& node = *graph.add_node();
  node.set_op_type(op.name);
  node.set_name(op.name);
  for (std::size_t k = 0; k < inputs.size(); ++k)
    node.add_input(inputs[k] == ValueId::none ? "" : input_name(k));
  for (const auto& [name, v] : values_of(inputs, graphs)) add_value(graph, name, g, v);
  for (const auto& [name, value] : attributes) *node.add_attribute() = attribute_proto(name, value);
  for (const auto& [name, argument] : graphs) add_graph(node, name, argument.graph);
  for (std::size_t k = 0; k < outputs; ++k) {
    *node.add_output() = fmt::format("#out{}", k);
    *graph.add_output()->mutable_name() = fmt::format("#out{}", k);
  }
  return model;
}

/// The number of outputs of an op with graphs: that of its first graph, without the condition of a
/// Loop's body.
std::size_t outputs_of(const OpForm& op, const GraphArguments& graphs) {
  pb::GraphProto g;
  const auto& [name, argument] = *graphs.begin();
  require(g.ParseFromString(argument.graph.bytes), "attribute '{}' holds no graph", name);
  const auto count = static_cast<std::size_t>(g.output_size());
  return count - (op.name == "Loop" && count > 0 ? 1 : 0);
}

/// Copies the nodes of an imported graph to the builder's region; returns the copied results.
std::vector<ValueId> inlined(ir::Builder& b, const ir::Graph& from,
                             const std::map<std::string, ValueId>& values) {
  ir::Cloner copy(from, b.graph());
  for (std::size_t k = 0; k < from.root().params.size(); ++k)
    copy.map(from.root().params[k], values.at(from.input_names[k]));
  for (const ir::NodeId n : from.root().nodes) copy.node(n, b.region());
  std::vector<ValueId> outputs;
  for (const ValueId v : from.root().results) outputs.push_back(copy(v));
  return outputs;
}

}  // namespace

std::optional<OpForm> op_form(const std::string& name, int opset) {
  const pb::OpSchema* schema = find_schema(name, opset, "");
  if (schema == nullptr || schema->Deprecated()) {
    opset = newest_version("");
    schema = find_schema(name, opset, "");
  }
  if (schema == nullptr || schema->Deprecated()) return std::nullopt;
  OpForm form;
  form.name = name;
  form.opset = opset;
  for (const auto& input : schema->inputs()) {
    form.inputs.push_back(input.GetName());
    form.variadic = form.variadic || input.GetOption() == pb::OpSchema::Variadic;
  }
  for (const auto& output : schema->outputs()) form.outputs.push_back(output.GetName());
  for (const auto& [key, a] : schema->attributes()) form.attributes.emplace(key, form_of(a.type));
  return form;
}

std::vector<ValueId> call_op(ir::Builder& b, const OpForm& op, std::span<const ValueId> inputs,
                             const ir::Attributes& attributes, const GraphArguments& graphs) {
  const std::map<std::string, ValueId> values = values_of(inputs, graphs);
  const auto graph_of = [&](std::size_t outputs) {
    auto model = model_of(b.graph(), op, inputs, attributes, graphs, outputs);
    return Importer(std::move(model), DataFolder{}, {}).run().graph;
  };
  if (!graphs.empty()) return inlined(b, graph_of(outputs_of(op, graphs)), values);
  const std::size_t certain = certain_outputs(op);
  std::vector<ValueId> results;
  if (certain == op.outputs.size()) {
    results = inlined(b, graph_of(certain), values);
  } else {
    // Attributes decide which optional outputs exist, and only the import can tell: it is tried.
    std::optional<ir::Graph> all;
    try {
      all = graph_of(op.outputs.size());
    } catch (const Error&) { all = graph_of(certain); }
    results = inlined(b, *all, values);
  }
  results.resize(op.outputs.size(), ValueId::none);
  return results;
}

}  // namespace rondel::onnx
