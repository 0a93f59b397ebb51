#include "frontends/onnx/graph_writer.h"

#include "formats/onnx/graph_text.h"
#include "formats/onnx/protos.h"
#include "formats/onnx/types.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/operators.h"

#include <charconv>
#include <set>

namespace rondel::onnx {
namespace {

using pb::AttributeProto;

pb::TypeProto type_named(const std::string& text) {
  using Types = pb::Utils::DataTypeUtils;
  try {
    return Types::ToTypeProto(Types::ToType(text));
  } catch (const std::exception&) { fail("'{}' is no type of ONNX", text); }
}

/// The tensor type that a PortInfo's shape belongs to; null: none.
pb::TypeProto::Tensor* shaped(pb::TypeProto& t) {
  if (t.has_optional_type()) return shaped(*t.mutable_optional_type()->mutable_elem_type());
  return t.has_tensor_type() ? t.mutable_tensor_type() : nullptr;
}

pb::TypeProto declared_type(const PortInfo& p) {
  pb::TypeProto type = type_named(p.type);
  auto* tensor = shaped(type);
  if (tensor == nullptr || !p.shape) return type;
  tensor->mutable_shape();
  for (const std::string& extent : *p.shape) {
    auto* dim = tensor->mutable_shape()->add_dim();
    std::int64_t number = 0;
    const char* end = extent.data() + extent.size();
    if (std::from_chars(extent.data(), end, number).ptr == end && !extent.empty())
      dim->set_dim_value(number);
    else if (!extent.empty()) dim->set_dim_param(extent);
  }
  return type;
}

AttributeProto graph_attribute(const std::string& name, const GraphBytes& g) {
  AttributeProto a;
  a.set_name(name);
  a.set_type(AttributeProto::GRAPH);
  require(a.mutable_g()->ParseFromString(g.bytes), "attribute '{}' holds no GraphProto", name);
  return a;
}

AttributeProto attribute(const std::string& name, const OperatorValue& value) {
  if (const auto* g = std::get_if<GraphBytes>(&value)) return graph_attribute(name, *g);
  return std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, TypeText>) {
          AttributeProto a;
          a.set_name(name);
          a.set_type(AttributeProto::TYPE_PROTO);
          *a.mutable_tp() = type_named(v.text);
          return a;
        } else if constexpr (std::is_same_v<T, GraphBytes>) {
          return AttributeProto();
        } else {
          if constexpr (std::is_same_v<T, Tensor>)
            require(v.defined(), "attribute '{}' is an undefined tensor", name);
          return attribute_proto(name, ir::Attribute(v));
        }
      },
      value);
}

std::shared_ptr<pb::ModelProto> empty_model(const std::string& name, std::int64_t opset) {
  check_opset(opset);
  auto model = std::make_shared<pb::ModelProto>();
  model->set_ir_version(pb::Version::IR_VERSION);
  model->mutable_graph()->set_name(name);
  model->add_opset_import()->set_version(opset);
  return model;
}

}  // namespace

struct GraphWriter::Impl {
  Impl(const std::string& name, int opset)
      : model(empty_model(name, opset)), importer(model, {}, ImportOptions{}),
        frame(importer.begin()), scope{nullptr, ir::RegionId::root, &model->graph().node(), {}} {}

  void refuse_taken(const std::string& name) const {
    require(!name.empty(), "a value has no name");
    require(!scope.names.contains(name), "'{}' is defined twice in one graph", name);
  }

  std::shared_ptr<pb::ModelProto> model;
  Importer importer;
  Frame frame;
  Scope scope;
  std::vector<ValueId> results;
  std::vector<std::unique_ptr<pb::NodeProto>> refused;
};

GraphWriter::GraphWriter(const std::string& name, int opset)
    : impl_(std::make_unique<Impl>(name, opset)) {}
GraphWriter::~GraphWriter() = default;

void GraphWriter::input(const PortInfo& p) {
  capture(p);
  impl_->importer.graph().input_names.push_back(p.name);
  pb::ValueInfoProto& declared = *impl_->model->mutable_graph()->add_input();
  declared.set_name(p.name);
  *declared.mutable_type() = declared_type(p);
}

void GraphWriter::capture(const PortInfo& p) {
  impl_->refuse_taken(p.name);
  const ir::Type type = type_of(declared_type(p), "'" + p.name + "'");
  impl_->importer.define(impl_->scope, p.name,
                         impl_->importer.param(ir::RegionId::root, type, p.name));
}

void GraphWriter::constant(const std::string& name, const Tensor& t) {
  impl_->refuse_taken(name);
  require(t.defined(), "constant '{}' is an undefined tensor", name);
  const Tensor copy = t.copy();
  impl_->importer.define(
      impl_->scope, name,
      impl_->importer.constant(copy, "initializer '" + name + "'", ir::RegionId::root));
  pb::TensorProto& written = *impl_->model->mutable_graph()->add_initializer();
  written = tensor_proto(copy);
  written.set_name(name);
}

std::vector<ir::Type> GraphWriter::node(
    const std::string& op, const std::string& name, const std::vector<std::string>& inputs,
    const std::vector<std::string>& outputs,
    const std::vector<std::pair<std::string, OperatorValue>>& attributes) {
  for (const std::string& o : outputs)
    if (!o.empty()) impl_->refuse_taken(o);
  auto written = std::make_unique<pb::NodeProto>();
  written->set_op_type(op);
  written->set_name(name);
  for (const std::string& i : inputs) written->add_input(i);
  for (const std::string& o : outputs) written->add_output(o);
  for (const auto& [key, value] : attributes) *written->add_attribute() = attribute(key, value);
  auto& nodes = *impl_->model->mutable_graph()->mutable_node();
  nodes.AddAllocated(written.release());
  const pb::NodeProto& n = nodes[nodes.size() - 1];
  try {
    impl_->importer.read(n, impl_->scope, impl_->frame);
  } catch (...) {
    for (const std::string& o : outputs) impl_->scope.names.erase(o);
    // The node is kept: the loader caches tensors by address, so addresses must not be reused.
    impl_->refused.push_back(std::unique_ptr<pb::NodeProto>(nodes.ReleaseLast()));
    throw;
  }
  std::vector<ir::Type> types;
  for (const std::string& o : outputs) {
    const auto found = impl_->scope.names.find(o);
    const bool computed = found != impl_->scope.names.end();
    types.push_back(computed ? impl_->importer.type(found->second) : ir::Type());
  }
  return types;
}

void GraphWriter::output(const std::string& name) {
  const ValueId* v = impl_->scope.find(name);
  require(v != nullptr, "output '{}' is never computed", name);
  impl_->results.push_back(*v);
  impl_->importer.graph().output_names.push_back(name);
  impl_->importer.graph().declared_outputs.push_back(impl_->importer.type(*v));
  pb::ValueInfoProto& declared = *impl_->model->mutable_graph()->add_output();
  declared.set_name(name);
  *declared.mutable_type() = type_proto(impl_->importer.type(*v));
}

std::string GraphWriter::graph_bytes() const { return impl_->model->graph().SerializeAsString(); }
std::vector<std::byte> GraphWriter::model_bytes() const { return serialized(*impl_->model); }

Imported GraphWriter::imported() {
  impl_->importer.graph().set_results(ir::RegionId::root, std::move(impl_->results));
  return impl_->importer.finish();
}

namespace {

void add_free_names(const pb::GraphProto& g, std::set<std::string> defined,
                    std::set<std::string>& found) {
  for (const auto& i : g.input()) defined.insert(i.name());
  for (const auto& t : g.initializer()) defined.insert(t.name());
  for (const auto& t : g.sparse_initializer()) defined.insert(t.values().name());
  for (const pb::NodeProto& n : g.node()) defined.insert(n.output().begin(), n.output().end());
  for (const pb::NodeProto& n : g.node()) {
    for (const std::string& i : n.input())
      if (!i.empty() && !defined.contains(i)) found.insert(i);
    for (const AttributeProto& a : n.attribute()) {
      if (a.has_g()) add_free_names(a.g(), defined, found);
      for (const pb::GraphProto& inner : a.graphs()) add_free_names(inner, defined, found);
    }
  }
}

pb::GraphProto parsed(const GraphBytes& graph) {
  pb::GraphProto g;
  require(g.ParseFromString(graph.bytes), "the body is no GraphProto");
  return g;
}

}  // namespace

GraphBytes graph_of_text(const std::string& text) {
  return {graph_in_text(text).SerializeAsString()};
}

std::vector<std::string> free_names(const GraphBytes& graph) {
  std::set<std::string> found;
  add_free_names(parsed(graph), {}, found);
  return {found.begin(), found.end()};
}

std::vector<std::byte> model_of_graph(const GraphBytes& graph, int opset) {
  const auto model = empty_model("body", opset);
  *model->mutable_graph() = parsed(graph);
  return serialized(*model);
}

std::optional<GraphBytes> plain_body(std::span<const std::byte> model, int opset) {
  const auto m = parse_model(model);
  const Opsets opsets = read_opsets(m->opset_import(), "the model");
  if (m->functions_size() > 0 || opsets != Opsets{{"", opset}}) return std::nullopt;
  return GraphBytes{m->graph().SerializeAsString()};
}

}  // namespace rondel::onnx
