// Converts an ONNX node to a Call: attributes, signature; then to our ops.
#include "base/text.h"
#include "formats/onnx/types.h"
#include "frontends/onnx/attributes.h"
#include "frontends/onnx/microsoft/signatures.h"
#include "frontends/onnx/rules.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <unordered_map>

namespace rondel::onnx {
namespace {

using AP = pb::AttributeProto;

/// The name in lower case and without underscores: MatMul and mat_mul become matmul.
std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// The text for an op in errors: "op Foo of ai.onnx, version 13".
std::string op_text(const pb::NodeProto& n, std::int64_t version) {
  return fmt::format("op {} of {}, version {}", n.op_type(), domain_text(normal_domain(n.domain())),
                     version);
}

/// The first few types that an input takes, for errors.
std::string list_of(const pb::DataTypeSet& types) {
  constexpr std::size_t shown = 6;
  std::vector<std::string> names;
  for (const std::string* t : types) names.push_back(*t);
  std::sort(names.begin(), names.end());
  if (names.size() <= shown) return join(names, " or ");
  names.resize(shown);
  return join(names, ", ") + " or others";
}

ir::Attribute in_kind_of(const ir::Attribute* default_, std::string_view name, ir::Attribute given,
                         std::string_view op) {
  const bool integer_wanted = default_ != nullptr &&
                              std::holds_alternative<std::int64_t>(*default_);
  if (const auto* i = std::get_if<std::int64_t>(&given); i != nullptr && holds_dtype(name)) {
    if (integer_wanted) return given;
    return ir::Type::scalar(require_dtype(static_cast<std::int32_t>(*i),
                                          fmt::format("attribute '{}' of {}", name, op)));
  }
  if (const auto* f = std::get_if<double>(&given); f != nullptr && integer_wanted) {
    require(std::nearbyint(*f) == *f, "attribute '{}' of {} is {}; expected a whole number", name,
            op, *f);
    return static_cast<std::int64_t>(*f);
  }
  return given;
}

/// The first named tensor of which no rank is known, else one of which an extent is not known; or
/// none.
ValueId first_without_shape(Importer& importer, const std::vector<ValueId>& inputs) {
  const auto first = [&](auto lacks) {
    for (const ValueId v : inputs)
      if (v != ValueId::none && !importer.graph().value(v).name.empty() &&
          importer.type(v).is_tensor() && lacks(importer.type(v)))
        return v;
    return ValueId::none;
  };
  const ValueId unranked = first([](const ir::Type& t) { return !t.has_rank(); });
  return unranked != ValueId::none ? unranked
                                   : first([](const ir::Type& t) { return !t.is_static(); });
}

/// What a node is given, for errors: the types of its inputs, then its attributes.
std::string described(const Importer& importer, const std::vector<ValueId>& inputs,
                      const ir::Attributes& attributes) {
  std::vector<std::string> parts;
  for (const ValueId v : inputs)
    parts.push_back(v == ValueId::none ? "none" : ir::to_text(importer.type(v)));
  for (const auto& [name, value] : attributes)
    parts.push_back(fmt::format("{} = {}", name, ir::to_text(value)));
  return join(parts, ", ");
}

bool is_unset_dtype(std::string_view name, const ir::Attribute& a) {
  const auto* i = std::get_if<std::int64_t>(&a);
  return holds_dtype(name) && i != nullptr && *i == 0;
}

}  // namespace

const ir::OpDef* native_op(const std::string& onnx_op) {
  static const auto* const table = [] {
    auto* t = new std::unordered_map<std::string, const ir::OpDef*>();
    for (const ir::OpDef* op : ir::all_ops()) t->emplace(folded(op->name), op);
    return t;
  }();
  const auto it = table->find(folded(onnx_op));
  return it == table->end() ? nullptr : it->second;
}

void Call::set_input(std::size_t k, ValueId v) {
  if (inputs.size() <= k) inputs.resize(k + 1, ValueId::none);
  inputs[k] = v;
}

std::optional<ir::Attribute> Call::take(std::string_view name) {
  const ir::Attribute* a = attributes.find(name);
  if (a == nullptr) return std::nullopt;
  ir::Attribute taken = *a;
  attributes.erase(name);
  return taken;
}

const ir::Type& Call::type(ValueId v) const { return importer.type(v); }

std::optional<std::int64_t> Call::rank(ValueId v) const {
  const ir::Type& t = type(v);
  if (!t.is_tensor() || !t.has_rank()) return std::nullopt;
  return t.rank();
}

ValueId Call::constant(Tensor t) const {
  return importer.constant(std::move(t), source, scope.region);
}

ValueId Call::integers(const ir::Ints& v) const {
  return constant(Tensor::from<std::int64_t>({static_cast<std::int64_t>(v.size())},
                                             std::span<const std::int64_t>(v)));
}

ValueId Call::integer(std::int64_t v) const { return constant(Tensor::scalar<std::int64_t>(v)); }

ValueId Call::number(DType dtype, double v) const {
  if (dtype == DType::f32) return constant(Tensor::scalar<float>(static_cast<float>(v)));
  const ValueId wide = constant(Tensor::scalar<double>(v));
  if (dtype == DType::f64) return wide;
  return one("Cast", {wide}, {{"to", ir::Type::scalar(dtype)}});
}

std::vector<ValueId> Call::add(const std::string& name, std::vector<ValueId> in, ir::Attributes a,
                               std::size_t n) const {
  return importer.add(*this, name, std::move(in), std::move(a), n);
}

ValueId Call::one(const std::string& name, std::vector<ValueId> in, ir::Attributes a) const {
  return add(name, std::move(in), std::move(a), 1)[0];
}

std::unordered_map<std::string, Binding> Importer::bindings(const pb::NodeProto& n, Scope& scope,
                                                            const Frame& frame) const {
  std::unordered_map<std::string, Binding> out;
  for (const AP& a : n.attribute()) {
    Binding b{&a, &scope, &frame};
    if (!a.ref_attr_name().empty()) {
      require(frame.function != nullptr || frame.caller != nullptr,
              "attribute '{}' refers to '{}', which only functions may", a.name(),
              a.ref_attr_name());
      const auto it = frame.attributes.find(a.ref_attr_name());
      if (it == frame.attributes.end()) continue;  // the function's caller left it out
      b = it->second;
    }
    require(out.emplace(a.name(), b).second, "attribute '{}' is given twice", a.name());
  }
  return out;
}

void Importer::read_attributes(Call& c, const std::unordered_map<std::string, Binding>& bound) {
  const auto& known = c.schema.attributes();
  for (const auto& [name, b] : bound) {
    if (name == "consumed_inputs") continue;  // an old hint: inputs that may be overwritten
    const auto attribute = known.find(name);
    if (attribute == known.end()) {
      std::vector<std::string> names;
      for (const auto& [k, _] : known) names.push_back(k);
      const std::string near = closest(name, names);
      fail("attribute '{}' is not one of {}-{}{}", name, c.op, c.version(),
           near.empty() ? "" : "; did you mean '" + near + "'?");
    }
    const AP::AttributeType kind = kind_of(*b.attribute), wanted = attribute->second.type;
    require(kind == wanted, "attribute '{}' is {}; expected {}", name, AP::AttributeType_Name(kind),
            AP::AttributeType_Name(wanted));
    require(holds_only(*b.attribute, kind), "attribute '{}' is {}, but has a value of another type",
            name, AP::AttributeType_Name(kind));
    if (kind == AP::GRAPH) {
      require(b.attribute->has_g(), "attribute '{}' holds no graph", name);
      c.graphs.emplace(name, b);
      continue;
    }
    ir::Attribute value = attribute_of(*b.attribute, tensor_loader_, "attribute '" + name + "'");
    if (!is_unset_dtype(name, value)) c.attributes.set(name, std::move(value));
  }
  const pb::OpSchema* now = find_schema(c.op, newest_version(c.schema.domain()), c.schema.domain());
  for (const auto& [name, a] : known) {
    require(!a.required || bound.contains(name), "attribute '{}' is missing", name);
    if (bound.contains(name) || !a.default_value.has_name() || a.type == AP::GRAPH) continue;
    const ir::Attribute value = attribute_of(a.default_value, tensor_loader_, name);
    // A default is written out only if the newest version has another default.
    if (now != nullptr) {
      const auto same = now->attributes().find(name);
      if (same != now->attributes().end() && same->second.default_value.has_name() &&
          same->second.type == a.type &&
          ir::to_text(attribute_of(same->second.default_value, tensor_loader_, name)) ==
              ir::to_text(value))
        continue;
    }
    if (!is_unset_dtype(name, value)) c.attributes.set(name, value);
  }
}

void Importer::check_signature(const Call& c) {
  const auto& schema = c.schema;
  const int given = c.node.input_size(), named = c.node.output_size();
  require(given >= schema.min_input() && given <= schema.max_input(),
          "{} inputs are given; {}-{} takes {} to {}", given, c.op, c.version(), schema.min_input(),
          schema.max_input());
  require(named >= schema.min_output() && named <= schema.max_output(),
          "{} outputs are named; {}-{} gives {} to {}", named, c.op, c.version(),
          schema.min_output(), schema.max_output());
  for (std::size_t k = 0; k < static_cast<std::size_t>(given); ++k) {
    const auto& formal = schema.inputs()[std::min(k, schema.inputs().size() - 1)];
    if (!c.has(k)) {
      // The text of Resize-11 requires roi; exporters leave it out if the mode does not read it.
      require(formal.GetOption() != pb::OpSchema::Single || c.op == "Resize",
              "input {} ('{}') is left out", k, formal.GetName());
      continue;
    }
    if (c.frame.built_in) continue;
    const std::string text = schema_text(c.type(c.inputs[k]));
    const auto& types = formal.GetTypes();
    const bool taken = std::any_of(types.begin(), types.end(),
                                   [&](const std::string* t) { return *t == text; });
    if (!taken)
      fail("input {} ('{}') is {}, which {} does not take in version {}; expected {}", k,
           formal.GetName(), text, c.op, c.version(), list_of(types));
  }
}

void Importer::check_outputs(const Call& c, std::span<const ValueId> results) {
  for (std::size_t j = 0; j < results.size() && j < c.outputs; ++j) {
    if (results[j] == ValueId::none) continue;
    const auto& formal = c.schema.outputs()[std::min(j, c.schema.outputs().size() - 1)];
    const std::string text = schema_text(c.type(results[j]));
    const auto& types = formal.GetTypes();
    const bool given = std::any_of(types.begin(), types.end(),
                                   [&](const std::string* t) { return *t == text; });
    require(given, "output {} is {}, which {} does not give in version {}", j, text, c.op,
            c.version());
  }
}

std::vector<ValueId> Importer::convert(const pb::NodeProto& n, Scope& scope, const Frame& frame,
                                       const std::string& source) {
  if (auto results = call_stand_in(n, scope, frame)) return std::move(*results);
  if (const pb::FunctionProto* f = local_function(n))
    return call_local(n, *f, scope, frame, source);
  const std::string domain = normal_domain(n.domain());
  const auto import = frame.opsets.find(domain);
  require(import != frame.opsets.end() || frame.built_in,
          "op {} is of domain '{}', which {} does not import", n.op_type(), domain_text(domain),
          frame.function == nullptr ? "the model" : "its function");
  const std::int64_t version = import != frame.opsets.end() ? import->second
                                                            : newest_version(domain);
  if (const auto op = ir::find_user_op(domain, n.op_type()))
    return call_user_op(n, *op, version, scope, frame, source);
  const pb::OpSchema* schema = find_readable_schema(n.op_type(), version, domain);
  if (schema == nullptr) {
    const bool later = find_schema(n.op_type(), newest_version(domain), domain) != nullptr;
    if (later) fail("{} does not exist yet in that version", op_text(n, version));
    if (domain == microsoft_domain) unsupported("{} is not supported", op_text(n, version));
    if (domain == nchwc_domain)
      unsupported(
          "{} has its operands in the order that one processor likes; save the optimised model "
          "with "
          "ORT_ENABLE_EXTENDED instead of ORT_ENABLE_ALL",
          op_text(n, version));
    fail(
        "{} is not known: neither ONNX nor a function of the model defines it; if it is an op of "
        "your own, register it first (rondel.register_op, --ops FILE.py; in C++ "
        "rondel::register_op)",
        op_text(n, version));
  }
  if (schema->Deprecated() && find_rule(domain, n.op_type(), schema->since_version()) == nullptr)
    fail("{} was taken out in version {}", op_text(n, version), schema->since_version());
  Call c{*this,
         n,
         *schema,
         scope,
         frame,
         n.op_type(),
         source,
         resolve(n, scope),
         {},
         {},
         static_cast<std::size_t>(n.output_size())};
  check_signature(c);
  read_attributes(c, bindings(n, scope, frame));
  while (!c.inputs.empty() && c.inputs.back() == ValueId::none) c.inputs.pop_back();
  std::vector<ValueId> results = dispatch(c);
  if (!c.graphs.empty()) check_outputs(c, results);
  return results;
}

std::vector<ValueId> Importer::dispatch(Call& c) {
  const std::string& domain = c.schema.domain();
  if (const Rule* rule = find_rule(domain, c.op, c.version())) return rule->convert(c);
  if (const ir::OpDef* op = native_op(c.op); op != nullptr && c.graphs.empty()) {
    const pb::OpSchema* now = find_schema(c.op, newest_version(domain), domain);
    std::vector<ValueId> results = add_native(*op, c.inputs, fitted(*op, now, c.attributes),
                                              c.outputs, c.source, c.scope.region);
    for (std::size_t j = 1; j < c.outputs; ++j) {
      if (!c.node.output(static_cast<int>(j)).empty()) continue;
      graph().leave_out_output(graph().value(results[j]).producer, j);
      results[j] = ValueId::none;
    }
    return results;
  }
  if (auto results = own_body(c)) return std::move(*results);
  return add(c, c.op, c.inputs, c.attributes, c.outputs);
}

std::vector<ValueId> Importer::add(const Call& c, const std::string& op,
                                   std::vector<ValueId> inputs, ir::Attributes attributes,
                                   std::size_t outputs) {
  // The ops of com.microsoft become ops of ai.onnx.
  const std::string domain = c.schema.domain() == microsoft_domain ? "" : c.schema.domain();
  const int version = newest_version(domain);
  const pb::OpSchema* schema = find_schema(op, version, domain);
  if (const ir::OpDef* native = native_op(op))
    return add_native(*native, std::move(inputs), fitted(*native, schema, std::move(attributes)),
                      outputs, c.source, c.scope.region);
  if (schema != nullptr && !schema->Deprecated()) {
    if (auto results = call_built_in(c, *schema, version, inputs, attributes, outputs))
      return std::move(*results);
    if (schema->HasContextDependentFunction()) {
      const ValueId untold = first_without_shape(*this, inputs);
      const std::string shape =
          untold == ValueId::none
              ? ""
              : fmt::format("; if it depends on the shape of its input '{}', declare its shape",
                            graph().value(untold).name);
      unsupported("ONNX makes no body for {} with these inputs and attributes: {}{}",
                  op_text(c.node, c.version()), described(*this, inputs, attributes), shape);
    }
  }
  unsupported("{} is not supported{}", op_text(c.node, c.version()),
              op == c.op ? "" : " (it needs " + op + ")");
}

ir::Attributes Importer::fitted(const ir::OpDef& op, const pb::OpSchema* schema,
                                ir::Attributes given) const {
  TensorLoader& loader = const_cast<TensorLoader&>(tensor_loader_);
  const auto knows = [&](std::string_view name) {
    return op.attributes.has(name) ||
           std::find(op.required.begin(), op.required.end(), name) != op.required.end();
  };
  ir::Attributes out;
  for (const auto& [name, value] : given) {
    if (knows(name)) {
      out.set(name, in_kind_of(op.attributes.find(name), name, value, op.name));
      continue;
    }
    bool assumed = false;
    if (schema != nullptr) {
      const auto a = schema->attributes().find(name);
      assumed = a != schema->attributes().end() && a->second.default_value.has_name() &&
                ir::to_text(attribute_of(a->second.default_value, loader, name)) ==
                    ir::to_text(value);
    }
    if (!assumed)
      unsupported("attribute '{}' = {} of {} is not supported", name, ir::to_text(value), op.name);
  }
  if (schema == nullptr) return out;
  for (const auto& [name, a] : schema->attributes()) {
    if (!knows(name) || out.has(name) || !a.default_value.has_name()) continue;
    ir::Attribute value = attribute_of(a.default_value, loader, name);
    if (is_unset_dtype(name, value)) continue;
    value = in_kind_of(op.attributes.find(name), name, std::move(value), op.name);
    const ir::Attribute* ours = op.attributes.find(name);
    if (ours == nullptr || ir::to_text(*ours) != ir::to_text(value)) out.set(name, value);
  }
  return out;
}

}  // namespace rondel::onnx
