// Nodes whose ops the user registered: as one node that keeps all of the file's, or as the function
// that was registered.
#include "frontends/onnx/user_ops.h"

#include "base/error.h"
#include "formats/onnx/types.h"
#include "frontends/onnx/attributes.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/microsoft/signatures.h"
#include "frontends/onnx/rules.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <onnx/defs/parser.h>
#pragma GCC diagnostic pop

namespace rondel::onnx {
namespace {

/// The declared type with its rank and numbers. Names are dropped: what they are equal to is not
/// checked when the op runs.
ir::Type without_names(const ir::Type& t) {
  if (!t.is_tensor() || !t.has_rank()) return t;
  ir::Extents extents;
  for (const ir::Extent& e : t.extents()) extents.push_back(e.known() ? e : ir::Extent());
  return ir::Type::tensor(t.dtype(), std::move(extents));
}

}  // namespace

bool is_onnx_domain(const std::string& domain) {
  return newest_version(domain) > 0 || domain == microsoft_domain;
}

bool defines(const std::string& domain, const std::string& name) {
  const int version = newest_version(domain);
  return version > 0 && find_schema(name, version, domain) != nullptr;
}

bool converts(const std::string& domain, const std::string& name) {
  return find_rule(domain, name, 1) != nullptr;
}

UsedOps& used_ops() {
  static thread_local UsedOps used;
  return used;
}

std::string function_bytes(const std::string& given) {
  pb::FunctionProto f;
  const std::size_t first = given.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && given[first] == '<') {
    ::onnx::OnnxParser parser(given.c_str());
    const auto status = parser.Parse(f);
    require(status.IsOK(), "the body is no function in ONNX's text form: {}",
            status.ErrorMessage());
  } else {
    require(f.ParseFromString(given) && f.output_size() > 0,
            "the body is no serialized FunctionProto, and no function in ONNX's text form");
  }
  return f.SerializeAsString();
}

/// The node's attributes, with those that the importer adds.
ir::Attributes Importer::user_attributes(const pb::NodeProto& n, Scope& scope, const Frame& frame) {
  ir::Attributes attributes;
  for (const auto& [name, bound] : bindings(n, scope, frame)) {
    require(ir::is_of_file(name), "attribute '{}' has a name that Rondel uses itself", name);
    attributes.set(name,
                   attribute_of(*bound.attribute, tensor_loader_, "attribute '" + name + "'"));
  }
  return attributes;
}

/// The types of the outputs as the graph declares them, else unknown shapes with the dtype of the
/// first input.
ir::TypeList Importer::declared_outputs(const pb::NodeProto& n, const Scope& scope,
                                        std::span<const ValueId> inputs) const {
  ir::TypeList types;
  for (const std::string& name : n.output()) {
    std::optional<ir::Type> found;
    for (const Scope::Declarations* list : scope.declarations)
      for (const pb::ValueInfoProto& v : *list)
        if (!name.empty() && v.name() == name && declares_type(v.type()))
          found = without_names(type_of(v.type(), "'" + name + "'"));
    for (const ValueId v : inputs)
      if (!found && v != ValueId::none && type(v).is_tensor())
        found = ir::Type::unranked(type(v).dtype());
    require(found.has_value(),
            "the model declares no type for output '{}', and there is no input "
            "whose dtype it could have; register the op with `types`",
            name);
    types.push_back(*std::move(found));
  }
  return types;
}

std::vector<ValueId> Importer::call_user_op(const pb::NodeProto& n, const ir::UserOp& op,
                                            std::int64_t version, Scope& scope, const Frame& frame,
                                            const std::string& source) {
  used_ops().emplace(op.domain, op.name);
  if (!op.body.empty()) {
    const auto [at, fresh] = user_bodies_.try_emplace(&op);
    if (fresh) at->second.ParseFromString(op.body);
    return call_local(n, at->second, scope, frame, source);
  }
  std::vector<ValueId> inputs = resolve(n, scope);
  while (!inputs.empty() && inputs.back() == ValueId::none) inputs.pop_back();
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k] != ValueId::none && !type(inputs[k]).is_tensor())
      unsupported("input {} is {}; ops of your own take tensors only", k,
                  ir::to_text(type(inputs[k])));
  require(n.output_size() > 0, "it has no output, so nothing would run it");
  ir::Attributes attributes = user_attributes(n, scope, frame);
  attributes.set(ir::imported_version, version);
  if (op.needs_declared_types)
    attributes.set(ir::declared_types, declared_outputs(n, scope, inputs));
  std::vector<ValueId> results = add_native(op.def, inputs, std::move(attributes),
                                            static_cast<std::size_t>(n.output_size()), source,
                                            scope.region);
  for (int j = 0; op.leaves_out_outputs && j < n.output_size(); ++j) {
    if (!n.output(j).empty()) continue;
    ValueId& left_out = results[static_cast<std::size_t>(j)];
    graph().leave_out_output(graph().value(left_out).producer, static_cast<std::size_t>(j));
    left_out = ValueId::none;
  }
  return results;
}

}  // namespace rondel::onnx
