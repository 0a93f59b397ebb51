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
    default: return AttributeForm::other;
  }
}

/// The outputs that are there whatever the attributes say; at least one.
std::size_t certain_outputs(const OpForm& op) {
  const pb::OpSchema* schema = find_schema(op.name, op.opset, "");
  const auto optional = std::ranges::count_if(schema->outputs(), [](const auto& output) {
    return output.GetOption() == pb::OpSchema::Optional;
  });
  return std::max<std::size_t>(1, op.outputs.size() - static_cast<std::size_t>(optional));
}

std::string input_name(std::size_t k) { return fmt::format("in{}", k); }

/// A model of the one node, whose inputs are typed as the values are; constants are initializers.
std::shared_ptr<pb::ModelProto> model_of(const ir::Graph& g, const OpForm& op,
                                         std::span<const ValueId> inputs,
                                         const ir::Attributes& attributes, std::size_t outputs) {
  auto model = std::make_shared<pb::ModelProto>();
  model->set_ir_version(pb::IR_VERSION);
  model->add_opset_import()->set_version(op.opset);
  pb::GraphProto& graph = *model->mutable_graph();
  pb::NodeProto& node = *graph.add_node();
  node.set_op_type(op.name);
  node.set_name(op.name);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k] == ValueId::none) {
      node.add_input("");
      continue;
    }
    node.add_input(input_name(k));
    if (const Tensor* t = g.constant(inputs[k])) {
      *graph.add_initializer() = tensor_proto(*t);
      graph.mutable_initializer()->rbegin()->set_name(input_name(k));
    } else {
      pb::ValueInfoProto& input = *graph.add_input();
      input.set_name(input_name(k));
      *input.mutable_type() = type_proto(g.value(inputs[k]).type);
    }
  }
  for (const auto& [name, value] : attributes) *node.add_attribute() = attribute_proto(name, value);
  for (std::size_t k = 0; k < outputs; ++k) {
    *node.add_output() = fmt::format("out{}", k);
    *graph.add_output()->mutable_name() = fmt::format("out{}", k);
  }
  return model;
}

/// Copies the nodes of a graph of one op to where the builder writes.
std::vector<ValueId> inlined(ir::Builder& b, const ir::Graph& from,
                             std::span<const ValueId> inputs) {
  ir::Cloner copy(from, b.graph());
  for (std::size_t k = 0; k < from.root().params.size(); ++k)
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (from.input_names[k] == input_name(i)) copy.map(from.root().params[k], inputs[i]);
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
                             const ir::Attributes& attributes) {
  const auto graph_of = [&](std::size_t outputs) {
    auto model = model_of(b.graph(), op, inputs, attributes, outputs);
    return Importer(std::move(model), DataFolder{}, {}).run().graph;
  };
  const std::size_t certain = certain_outputs(op);
  std::vector<ValueId> results;
  if (certain == op.outputs.size()) {
    results = inlined(b, graph_of(certain), inputs);
  } else {
    // Whether an optional output may be asked for depends on attributes: the import knows.
    std::optional<ir::Graph> all;
    try {
      all = graph_of(op.outputs.size());
    } catch (const Error&) { all = graph_of(certain); }
    results = inlined(b, *all, inputs);
  }
  results.resize(op.outputs.size(), ValueId::none);
  return results;
}

}  // namespace rondel::onnx
