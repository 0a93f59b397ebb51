#include "op_table/dtypes.h"

#include "base/error.h"
#include "formats/onnx/schemas.h"
#include "formats/onnx/types.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/microsoft/signatures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace rondel::tools {
namespace {

using Dtypes = std::set<DType>;

Dtypes all_dtypes() {
  Dtypes all;
  for (int t = 0; t < dtype_count; ++t) all.insert(static_cast<DType>(t));
  return all;
}

/// An attribute without a default with which type rules accept inputs; null if none is known. `t`:
/// the dtype of attributes that hold elements of inputs.
std::optional<ir::Attribute> sample(std::string_view name, DType t) {
  static const std::map<std::string_view, ir::Attribute> samples = {
      {"after", std::int64_t{0}},
      {"alpha", 1.0},
      {"axes", ir::Ints{0}},
      {"axis", std::int64_t{0}},
      {"before", std::int64_t{0}},
      {"begins", ir::Ints{0}},
      {"beta", 1.0},
      {"channels", std::int64_t{1}},
      {"classes", std::int64_t{2}},
      {"columns", std::int64_t{1}},
      {"count", std::int64_t{1}},
      {"depth", std::int64_t{1}},
      {"dilations", ir::Ints{1}},
      {"direction", std::string("LEFT")},
      {"dtype", ir::Type::scalar(DType::i64)},
      {"equation", std::string("i->i")},
      {"kernel_shape", ir::Ints{1}},
      {"mode", std::string("standard")},
      {"norm_coefficient", 0.0},
      {"num_groups", std::int64_t{1}},
      {"pooled_shape", ir::Ints{1, 1}},
      {"shape", ir::Ints{1}},
      {"size", std::int64_t{1}},
      {"strides", ir::Ints{1}},
      {"targets", std::int64_t{1}},
      {"to", ir::Type::scalar(DType::f32)},
      {"width", std::int64_t{1}},
      {"xs", std::int64_t{1}},
      {"zs", std::int64_t{0}},
  };
  if (name == "item") return ir::Type::tensor(t, ir::Extents{1});
  if (name == "keys" || name == "splits") return Tensor::zeros(t, {1});
  const auto found = samples.find(name);
  return found != samples.end() ? std::optional(found->second) : std::nullopt;
}

ir::Attributes attributes_of(const ir::OpDef& op, DType t) {
  ir::Attributes attributes = op.attributes;
  for (const std::string_view name : op.required)
    if (auto value = sample(name, t)) attributes.set(std::string(name), std::move(*value));
  return attributes;
}

/// An input.
struct Port {
  bool given = false;        ///< else it is left out
  std::size_t variable = 0;  ///< inputs of one variable have one dtype
  bool sequence = false;
};

ir::Type type_of(const Port& port, const ir::Type& tensor) {
  return port.sequence ? ir::Type::sequence(tensor) : tensor;
}

/// The inputs of an op, and what its dtypes may be.
struct Signature {
  std::vector<Port> ports;
  std::vector<Dtypes> variables;
  bool variadic = false;  ///< the last input may be repeated
};

bool takes(const onnx::pb::OpSchema::FormalParameter& input, const ir::Type& type) {
  return std::ranges::any_of(input.GetTypes(), [text = onnx::schema_text(type)](const auto* taken) {
    return *taken == text;
  });
}

bool takes_sequences_only(const onnx::pb::OpSchema::FormalParameter& input) {
  return std::ranges::all_of(input.GetTypes(),
                             [](const auto* t) { return t->starts_with("seq("); });
}

/// What ONNX's schema says. Inputs that may be left out are.
Signature signature(const onnx::pb::OpSchema& schema) {
  Signature made;
  std::map<std::string, std::size_t> variables;
  for (const auto& input : schema.inputs()) {
    Port& port = made.ports.emplace_back();
    if (input.GetOption() == onnx::pb::OpSchema::Optional) continue;
    const auto [at, fresh] = variables.try_emplace(input.GetTypeStr(), variables.size());
    made.variadic = input.GetOption() == onnx::pb::OpSchema::Variadic;
    port = {true, at->second, takes_sequences_only(input)};
    if (!fresh) continue;
    Dtypes& taken = made.variables.emplace_back();
    for (const DType t : all_dtypes())
      if (takes(input, type_of(port, ir::Type::unranked(t)))) taken.insert(t);
  }
  return made;
}

/// What the op itself says: each input has its own dtype. `optionals`: how many of the inputs that
/// may be left out are not. `first_sequence`: the first input is a sequence.
Signature signature(const ir::OpDef& op, int optionals, bool first_sequence) {
  Signature made;
  for (const ir::InputDef& input : op.inputs) {
    Port& port = made.ports.emplace_back();
    if (input.kind == ir::InputDef::optional && --optionals < 0) continue;
    made.variadic = input.kind == ir::InputDef::variadic;
    port = {true, made.variables.size(), first_sequence && made.ports.size() == 1};
    made.variables.push_back(all_dtypes());
  }
  return made;
}

/// The newest schema of the op of ONNX, or of com.microsoft, that is our op; null if there is none.
const onnx::pb::OpSchema* schema_of(const ir::OpDef& op) {
  using Schemas = std::map<const ir::OpDef*, const onnx::pb::OpSchema*>;
  static const auto all = onnx::pb::OpSchemaRegistry::get_all_schemas_with_history();
  static const Schemas newest = [] {
    Schemas found;
    for (const std::string& name : onnx::microsoft_ops())
      found[onnx::native_op(name)] = onnx::find_microsoft_schema(
          name, std::string(onnx::microsoft_domain));
    for (const onnx::pb::OpSchema& s : all) {
      if (s.Deprecated()) continue;
      const onnx::pb::OpSchema*& chosen = found[onnx::native_op(s.Name())];
      if (chosen == nullptr || chosen->domain() == onnx::microsoft_domain ||
          chosen->since_version() < s.since_version())
        chosen = &s;
    }
    return found;
  }();
  const auto found = newest.find(&op);
  return found != newest.end() ? found->second : nullptr;
}

constexpr std::size_t most_free_variables = 4;

/// Tries dtypes for the inputs of an op.
class Probe {
 public:
  Probe(const ir::OpDef& op, Signature signature) : op_(op), signature_(std::move(signature)) {}

  /// The dtypes that the variable accepts that accepts most.
  Dtypes most_accepted() {
    Dtypes most;
    for (std::size_t v = 0; v < signature_.variables.size(); ++v)
      if (Dtypes found = accepted(v); found.size() > most.size()) most = std::move(found);
    return most;
  }

 private:
  /// The dtypes that the variable accepts, with some dtypes of the others.
  Dtypes accepted(std::size_t variable) {
    Dtypes found;
    for (const DType t : signature_.variables[variable]) {
      chosen_.assign(signature_.variables.size(), t);
      attributes_ = attributes_of(op_, t);
      if (accepts_some(0, variable)) found.insert(t);
    }
    return found;
  }

  /// Chooses the variables from `v` on but for `fixed`. Many variables all have the dtype of
  /// `fixed`: there are too many ways to choose.
  bool accepts_some(std::size_t v, std::size_t fixed) {
    if (v == chosen_.size()) return accepts();
    if (v == fixed) return accepts_some(v + 1, fixed);
    const DType same = chosen_[fixed];
    if (chosen_.size() > most_free_variables) return accepts();
    for (const DType t : {same, DType::f32, DType::i64, DType::boolean, DType::u8, DType::i32,
                          DType::u64, DType::string}) {
      if (!signature_.variables[v].contains(t)) continue;
      chosen_[v] = t;
      if (accepts_some(v + 1, fixed)) return true;
    }
    return false;
  }

  /// The last input is repeated where any number of them may be given.
  bool accepts() const {
    std::vector<ir::Type> types;
    for (const Port& port : signature_.ports)
      types.push_back(port.given ? type_of(port, ir::Type::unranked(chosen_[port.variable]))
                                 : ir::Type());
    for (std::size_t repeats = 0; repeats <= (signature_.variadic ? 3 : 0); ++repeats) {
      std::vector<const ir::Type*> inputs;
      for (const ir::Type& type : types)
        inputs.push_back(type.kind() == ir::Type::Kind::none ? nullptr : &type);
      inputs.insert(inputs.end(), repeats, inputs.back());
      for (const std::size_t outputs : std::set{op_.outputs.size(), std::size_t{1}})
        if (accepts(inputs, outputs)) return true;
    }
    return false;
  }

  bool accepts(std::span<const ir::Type* const> inputs, std::size_t outputs) const try {
    ir::TypeContext context(attributes_, inputs, {}, {}, outputs);
    op_.type(context);
    return true;
  } catch (const Error&) { return false; }

  const ir::OpDef& op_;
  ir::Attributes attributes_;
  Signature signature_;
  std::vector<DType> chosen_;
};

struct Group {
  std::string_view name;
  Dtypes dtypes;
};

std::span<const Group> groups() {
  using enum DType;
  static const Group all[] = {
      {"floats", {f64, f32, f16, bf16}},
      {"small floats", {f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f8e8m0, f4e2m1}},
      {"integers", {i64, i32, i16, i8, u64, u32, u16, u8}},
      {"small integers", {i4, i2, u4, u2}},
      {"bool", {boolean}},
      {"complex", {c64, c128}},
      {"text", {string}},
  };
  return all;
}

}  // namespace

std::set<DType> dtypes_of(const ir::OpDef& op) {
  if (!op.type || op.inputs.empty()) return {};
  if (const onnx::pb::OpSchema* schema = schema_of(op)) {
    const Signature said = signature(*schema);
    const Dtypes found = Probe(op, said).most_accepted();
    if (!found.empty() || said.variables.empty()) return found;
    // Attributes decide which of them.
    return *std::ranges::max_element(said.variables, {}, &Dtypes::size);
  }
  for (const bool first_sequence : {false, true})
    for (const int optionals : {0, 1}) {
      const Dtypes found = Probe(op, signature(op, optionals, first_sequence)).most_accepted();
      if (!found.empty()) return found;
    }
  fail("the type rule of {} accepts no dtype; add its attributes to `sample` in {}", op.name,
       "tools/op_table/dtypes.cpp");
}

std::string to_text(const std::set<DType>& dtypes) {
  if (dtypes.empty()) return "-";
  if (dtypes.size() == dtype_count) return "all";
  std::vector<std::string> names;
  for (const Group& group : groups()) {
    if (std::ranges::includes(dtypes, group.dtypes)) {
      names.emplace_back(group.name);
      continue;
    }
    for (const DType t : group.dtypes)
      if (dtypes.contains(t)) names.emplace_back(name(t));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace rondel::tools
