#include "frontends/onnx/rules/control.h"

#include "formats/onnx/types.h"
#include "ir/loop_editor.h"

namespace rondel::onnx {

std::vector<const pb::ValueInfoProto*> free_inputs(const pb::GraphProto& graph) {
  std::unordered_set<std::string> constants;
  for (const auto& t : graph.initializer()) constants.insert(t.name());
  for (const auto& s : graph.sparse_initializer()) constants.insert(s.values().name());
  std::vector<const pb::ValueInfoProto*> inputs;
  for (const auto& input : graph.input())
    if (!constants.contains(input.name())) inputs.push_back(&input);
  return inputs;
}

BodyGraph body_graph(const Call& c, const std::string& name, std::size_t inputs) {
  const auto it = c.graphs.find(name);
  require(it != c.graphs.end(), "attribute '{}' is missing", name);
  return body_graph(it->second, name, inputs);
}

BodyGraph body_graph(const Binding& binding, const std::string& name, std::size_t inputs) {
  BodyGraph body{binding.attribute->g(), binding, free_inputs(binding.attribute->g())};
  if (static_cast<std::size_t>(body.graph.input_size()) == inputs) {
    body.inputs.clear();
    for (const auto& input : body.graph.input()) body.inputs.push_back(&input);
  }
  require(body.inputs.size() == inputs, "its {} has {} inputs; expected {}", name,
          body.inputs.size(), inputs);
  return body;
}

Scope body_scope(const BodyGraph& body, ir::RegionId region) {
  return Scope{body.binding.scope, region, &body.graph.node(), {}};
}

void check_declared(const pb::ValueInfoProto& declared, const ir::Type& bound) {
  if (!declared.has_type() || !declares_type(declared.type())) return;
  const ir::Type type = type_of(declared.type(), "body input '" + declared.name() + "'");
  require(schema_text(type) == schema_text(bound), "body input '{}' is declared {} but is given {}",
          declared.name(), ir::to_text(type), ir::to_text(bound));
}

std::vector<ValueId> call_graph(Importer& importer, const Binding& binding, const std::string& name,
                                std::span<const ValueId> inputs, ir::RegionId region) {
  const BodyGraph body = body_graph(binding, name, inputs.size());
  Scope scope = body_scope(body, region);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    check_declared(*body.inputs[k], importer.type(inputs[k]));
    importer.define(scope, body.inputs[k]->name(), inputs[k]);
  }
  return importer.body(body.graph, scope, *binding.frame);
}

std::optional<std::int64_t> declared_rank(const pb::ValueInfoProto& input) {
  const auto& type = input.type();
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return std::nullopt;
  return type.tensor_type().shape().dim_size();
}

namespace {

/// The declared shape of the body's output k: from its output list, else from value_info; null:
/// none.
const pb::TensorShapeProto* declared_shape(const pb::GraphProto& body, std::size_t k) {
  const auto shape_in = [](const pb::ValueInfoProto& v) {
    const auto& type = v.type();
    return type.has_tensor_type() && type.tensor_type().has_shape() ? &type.tensor_type().shape()
                                                                    : nullptr;
  };
  const pb::ValueInfoProto& output = body.output(static_cast<int>(k));
  if (const auto* shape = shape_in(output)) return shape;
  for (const pb::ValueInfoProto& v : body.value_info())
    if (v.name() == output.name()) return shape_in(v);
  return nullptr;
}

}  // namespace

void keep_declared_items(const Call& c, ir::NodeId loop, const BodyGraph& body, std::size_t first) {
  ir::LoopEditor editor(c.importer.graph(), loop);
  for (std::size_t k = 0; k < editor.parts().stacks; ++k) {
    const pb::TensorShapeProto* shape = declared_shape(body.graph, first + k);
    if (shape == nullptr) continue;
    ir::Extents extents;
    for (const auto& dim : shape->dim())
      extents.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? ir::Extent(dim.dim_value())
                                                                    : ir::Extent());
    editor.set_declared(k, ir::Type::tensor(c.type(editor.item(k)).dtype(), std::move(extents)));
  }
}

ValueId one_in(const Call& c, ir::RegionId region, const std::string& op,
               std::vector<ValueId> inputs, ir::Attributes attributes) {
  Scope scope{&c.scope, region, nullptr, {}};
  Call inner{c.importer, c.node, c.schema, scope, c.frame, c.op, c.source, {}, {}, {}, 1};
  return inner.one(op, std::move(inputs), std::move(attributes));
}

ValueId scalar_of(const Call& c, ValueId v, DType dtype, std::string_view what,
                  ir::RegionId region) {
  const ir::Type& t = c.type(v);
  require(t.may_be_one_element() && t.dtype() == dtype, "{} is {}; expected one element of {}",
          what, ir::to_text(t), name(dtype));
  if (t.has_rank() && t.rank() == 0) return v;
  return c.importer.add_native(ir::op("one_element"), {v}, {{"what", std::string(what)}}, 1,
                               c.source, region)[0];
}

std::span<const Rule> control_rules() {
  static constexpr Rule rules[] = {
      {"Loop", 1, newest, import_loop, "loop"},
      {"Scan", 8, 8, import_scan_8, "loop"},
      {"Scan", 9, newest, import_scan, "loop"},
      {"If", 1, newest, import_if, "if"},
  };
  return rules;
}

}  // namespace rondel::onnx
