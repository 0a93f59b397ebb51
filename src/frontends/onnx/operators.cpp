#include "frontends/onnx/operators.h"

#include "formats/onnx/schemas.h"
#include "frontends/onnx/attributes.h"
#include "frontends/onnx/check.h"

#include <algorithm>
#include <map>

namespace rondel::onnx {
namespace {

using Schema = pb::OpSchema;

OperatorPort::Form form_of(Schema::FormalParameterOption option) {
  switch (option) {
    case Schema::Single: return OperatorPort::Form::single;
    case Schema::Optional: return OperatorPort::Form::optional;
    case Schema::Variadic: return OperatorPort::Form::variadic;
  }
  return OperatorPort::Form::single;
}

std::vector<OperatorPort> ports_of(const std::vector<Schema::FormalParameter>& all) {
  std::vector<OperatorPort> ports;
  for (const auto& p : all) {
    OperatorPort port{
        p.GetName(),          p.GetDescription(), p.GetTypeStr(), {}, form_of(p.GetOption()),
        p.GetIsHomogeneous(), p.GetMinArity()};
    for (const std::string* t : p.GetTypes()) port.types.push_back(*t);
    std::ranges::sort(port.types);
    ports.push_back(std::move(port));
  }
  return ports;
}

std::optional<OperatorValue> default_of(const Schema::Attribute& a, TensorLoader& loader) {
  if (!a.default_value.has_name() || kind_of(a.default_value) == pb::AttributeProto::GRAPH)
    return std::nullopt;
  const ir::Attribute value = attribute_of(a.default_value, loader, a.name);
  return std::visit(
      [](const auto& v) -> std::optional<OperatorValue> {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_constructible_v<OperatorValue, T>) return OperatorValue(v);
        else return std::nullopt;  // a type: no operator has one as a default
      },
      value);
}

Operator described(const Schema& s, int opset, TensorLoader& loader) {
  Operator op;
  op.name = s.Name();
  op.doc = s.doc() == nullptr ? "" : s.doc();
  op.since_version = s.since_version();
  op.deprecated = s.Deprecated();
  op.runs = is_supported(s.Name(), s.domain(), opset);
  op.inputs = ports_of(s.inputs());
  op.outputs = ports_of(s.outputs());
  for (const auto& [name, a] : s.attributes())
    op.attributes.push_back({name, a.description, pb::AttributeProto::AttributeType_Name(a.type),
                             a.required, default_of(a, loader)});
  std::ranges::sort(op.attributes, {}, &OperatorAttribute::name);
  return op;
}

}  // namespace

int newest_opset() { return newest_version(""); }

void check_opset(std::int64_t opset) {
  require(opset >= 1 && opset <= newest_opset(), "opset {} does not exist; there are 1 to {}",
          opset, newest_opset());
}

std::vector<Operator> operators(int opset) {
  check_opset(opset);
  std::map<std::string, const Schema*> by_name;
  const std::vector<Schema> all = pb::OpSchemaRegistry::get_all_schemas_with_history();
  for (const Schema& s : all) {
    if (!s.domain().empty() || s.since_version() > opset) continue;
    const Schema*& chosen = by_name[s.Name()];
    if (chosen == nullptr || chosen->since_version() < s.since_version()) chosen = &s;
  }
  TensorLoader loader{DataFolder{}};
  std::vector<Operator> found;
  for (const auto& [name, schema] : by_name) found.push_back(described(*schema, opset, loader));
  return found;
}

}  // namespace rondel::onnx
