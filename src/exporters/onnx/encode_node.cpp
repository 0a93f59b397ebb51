#include "exporters/onnx/encode_node.h"

#include "base/axis.h"
#include "base/error.h"
#include "base/text.h"
#include "exporters/onnx/flattened_softmax.h"
#include "formats/onnx/protos.h"
#include "formats/onnx/types.h"
#include "ir/user_op.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>

namespace rondel::exporters {
namespace {

using ir::Graph;
using ir::ValueId;

/// Encodes versions `from` to `to` of an op, starting from the newest form. `write` returns "", or
/// the reason why it cannot encode the node.
struct VersionEncoding {
  std::string_view op;
  int from, to;  ///< range of the schema's since_version, both included
  std::string (*write)(const Graph&, const ir::Node&, EncodedNode&);
};

bool has_input(const EncodedNode& s, std::size_t k) {
  return k < s.inputs.size() && s.inputs[k] != ValueId::none;
}

/// Turns input k, a constant list, into the attribute `name`. An input that is left out is skipped.
std::string as_attribute(const Graph& g, EncodedNode& s, std::size_t k, const char* name) {
  if (!has_input(s, k)) return {};
  const Tensor* value = g.constant(s.inputs[k]);
  if (value == nullptr)
    return fmt::format("its {} are an attribute there, and these are not constant", name);
  const ir::Ints list = ir::integers_of(*value);
  s.inputs.resize(k);
  if (!list.empty()) s.attributes.set(name, list);
  return {};
}

/// No axes become Identity (interoperability.h): Squeeze without the attribute removes every axis
/// of extent 1, and Unsqueeze requires it.
std::string some_axes_attribute(const Graph& g, const ir::Node&, EncodedNode& s) {
  const bool listed = has_input(s, 1);
  std::string why = as_attribute(g, s, 1, "axes");
  return why.empty() && listed && !s.attributes.has("axes") ? "it has some axes there" : why;
}

std::string reduce(const Graph& g, const ir::Node&, EncodedNode& s) {
  const bool noop = s.attributes.flag("noop_with_empty_axes");
  std::string why = as_attribute(g, s, 1, "axes");
  if (why.empty() && noop && !s.attributes.has("axes"))
    return "no axes mean all of them there, not none";
  s.attributes.erase("noop_with_empty_axes");
  return why;
}

/// Without lengths, old versions split into as many equal parts as there are outputs.
std::string split_equally(const Graph& g, const ir::Node& n, EncodedNode& s) {
  s.attributes.erase("num_outputs");
  if (has_input(s, 1)) return {};
  const ir::Type& x = g.value(n.inputs[0]).type;
  if (!x.has_rank()) return "whether its parts are equal is not known";
  const std::int64_t axis = n.attributes.i("axis", 0);
  const ir::Extent& e = x.extent(axis_from_front(axis, x.rank()));
  if (!e.known() || e.value % static_cast<std::int64_t>(n.outputs.size()) != 0)
    return "its parts may differ in length, which begins in version 18";
  return {};
}

std::string split_attribute(const Graph& g, const ir::Node& n, EncodedNode& s) {
  const std::string why = split_equally(g, n, s);
  return why.empty() ? as_attribute(g, s, 1, "split") : why;
}

std::string without_wrap(const Graph&, const ir::Node& n, EncodedNode&) {
  return n.attributes.s("mode", "constant") == "wrap" ? "its mode 'wrap' begins in version 19" : "";
}

std::string without_axes(const Graph& g, const ir::Node& n, EncodedNode& s) {
  return has_input(s, 3) ? "its axes begin in version 18" : without_wrap(g, n, s);
}

/// Sums and products begin in version 16, which shows in the attribute's name.
std::string sums_and_products(const Graph&, const ir::Node& n, EncodedNode&) {
  const std::string how = n.attributes.s("reduction", "none");
  const bool later = how == "max" || how == "min";
  return later ? fmt::format("its reduction '{}' begins in version 18", how) : "";
}

std::string remainders_of_floats(const Graph& g, const ir::Node& n, EncodedNode&) {
  const bool floored = !n.attributes.flag("fmod") && is_float(g.value(n.inputs[0]).type.dtype());
  return floored ? "its remainders of floats have the sign of the dividend (fmod = 1)" : "";
}

bool has_no_empty_axis(const ir::Type& t) {
  return t.is_static() && std::ranges::count(t.static_shape(), 0) == 0;
}

/// In old versions a 0 in the shape means the extent of x; without a 0 the versions agree.
std::string without_allowzero(const Graph& g, const ir::Node& n, EncodedNode& s) {
  if (!n.attributes.flag("allowzero")) return {};
  const Tensor* shape = g.constant(n.inputs[1]);
  const bool zeros = shape == nullptr ? !has_no_empty_axis(g.value(n.outputs[0]).type)
                                      : std::ranges::count(ir::integers_of(*shape), 0) > 0;
  if (zeros) return "allowzero begins in version 14";
  s.attributes.erase("allowzero");
  return {};
}

/// Old versions flatten the input to a matrix at `axis`, which makes no difference for the last
/// axis. A node that is marked stands for that.
std::string last_axis(const Graph& g, const ir::Node& n, EncodedNode& s) {
  if (is_flattened_softmax(n)) {
    s.attributes.erase(flattened_mark);
    return {};
  }
  const ir::Type& x = g.value(n.inputs[0]).type;
  if (!x.has_rank()) return "its axis counts from the front there, and the rank is not known";
  const std::int64_t axis = n.attributes.i("axis", -1);
  if (axis != -1 && axis != x.rank() - 1) return "it goes over all axes from `axis` on there";
  s.attributes.set("axis", x.rank() - 1);
  return {};
}

std::string without_inputs(const Graph&, const ir::Node&, EncodedNode& s) {
  return s.inputs.size() > 1 ? "its ratio and mode are not inputs there" : "";
}

std::string without_training(const Graph&, const ir::Node& n, EncodedNode&) {
  return n.attributes.flag("training_mode") ? "its training_mode begins in version 14" : "";
}

/// The exporter leaves out outputs that nothing reads, which this op does not allow in training.
std::string with_statistics(const Graph& g, const ir::Node& n, EncodedNode&) {
  const bool all = n.outputs.size() == 3 &&
                   std::ranges::all_of(n.outputs, [&](ValueId v) { return g.is_read(v); });
  return n.attributes.flag("training_mode") && !all ? "it has three outputs in training" : "";
}

std::string without_dilations(const Graph&, const ir::Node& n, EncodedNode& s) {
  const ir::Ints dilations = n.attributes.ints("dilations");
  if (std::ranges::count(dilations, 1) != std::ssize(dilations))
    return "its dilations begin in version 19";
  s.attributes.erase("dilations");
  return {};
}

std::string scale_of_groups(const Graph&, const ir::Node&, EncodedNode&) {
  return "its scale and bias are those of groups there, not of channels";
}

std::string of_scalars(const Graph& g, const ir::Node& n, EncodedNode&) {
  const auto listed = [&](ValueId v) {
    return g.value(v).type.has_rank() && g.value(v).type.rank() > 0;
  };
  return std::ranges::any_of(n.inputs, listed) ? "its operands are scalars, not lists of one" : "";
}

/// One mode of coordinates begins in version 19, and one is in version 11 only; what else is newer
/// shows in the attributes' names.
std::string coordinates_of_version(const Graph&, const ir::Node&, EncodedNode& s) {
  const std::string mode = s.attributes.s("coordinate_transformation_mode", "half_pixel");
  const int version = s.schema->since_version();
  if (mode == "tf_half_pixel_for_nn" && version != 11)
    return mode + " is in version 11 of Resize only";
  return mode == "half_pixel_symmetric" && version < 19 ? mode + " begins in version 19 of Resize"
                                                        : "";
}

std::string older_grid_modes(const Graph& g, const ir::Node& n, EncodedNode& s) {
  const ir::Type& x = g.value(n.inputs[0]).type;
  if (x.has_rank() && x.rank() != 4) return "it samples images only, of two spatial axes";
  const std::string mode = s.attributes.s("mode", "linear");
  s.attributes.set("mode", mode == "linear" ? "bilinear" : mode == "cubic" ? "bicubic" : mode);
  return {};
}

/// The axis becomes an input in version 20, and -2 its default.
std::string dft_axis_attribute(const Graph& g, const ir::Node&, EncodedNode& s) {
  if (!has_input(s, 2)) {
    s.attributes.set("axis", -2);
    return {};
  }
  const Tensor* axis = g.constant(s.inputs[2]);
  if (axis == nullptr) return "its axis is an attribute there";
  s.attributes.set("axis", ir::integers_of(*axis).front());
  s.inputs.resize(2);
  return {};
}

std::string of_output_pixels(const Graph&, const ir::Node&, EncodedNode& s) {
  const std::string mode = s.attributes.s("coordinate_transformation_mode", "half_pixel");
  if (mode != "output_half_pixel") return mode + " begins in version 16 of RoiAlign";
  s.attributes.erase("coordinate_transformation_mode");
  return {};
}

constexpr int newest_reduce = 17, any_version = 1000;
constexpr VersionEncoding version_encodings[] = {
    {"ReduceSum", 1, 12, reduce},
    {"ReduceMean", 1, newest_reduce, reduce},
    {"ReduceMax", 1, newest_reduce, reduce},
    {"ReduceMin", 1, newest_reduce, reduce},
    {"ReduceProd", 1, newest_reduce, reduce},
    {"ReduceL1", 1, newest_reduce, reduce},
    {"ReduceL2", 1, newest_reduce, reduce},
    {"ReduceLogSum", 1, newest_reduce, reduce},
    {"ReduceLogSumExp", 1, newest_reduce, reduce},
    {"ReduceSumSquare", 1, newest_reduce, reduce},
    {"Squeeze", 1, 12, some_axes_attribute},
    {"Unsqueeze", 1, 12, some_axes_attribute},
    {"Split", 1, 12, split_attribute},
    {"Split", 13, 17, split_equally},
    {"Mod", 10, 27, remainders_of_floats},
    {"Pad", 11, 17, without_axes},
    {"Pad", 18, 18, without_wrap},
    {"ScatterElements", 16, 17, sums_and_products},
    {"ScatterND", 16, 17, sums_and_products},
    {"Reshape", 5, 13, without_allowzero},
    {"Softmax", 1, 12, last_axis},
    {"LogSoftmax", 1, 12, last_axis},
    {"Hardmax", 1, 12, last_axis},
    {"Range", 11, any_version, of_scalars},
    {"Dropout", 1, 11, without_inputs},
    {"BatchNormalization", 1, 13, without_training},
    {"BatchNormalization", 14, any_version, with_statistics},
    {"AveragePool", 1, 18, without_dilations},
    {"GroupNormalization", 18, 20, scale_of_groups},
    {"Resize", 11, any_version, coordinates_of_version},
    {"GridSample", 16, 19, older_grid_modes},
    {"DFT", 17, 19, dft_axis_attribute},
    {"RoiAlign", 10, 15, of_output_pixels},
};

const VersionEncoding* find_version_encoding(std::string_view op, int version) {
  for (const VersionEncoding& f : version_encodings)
    if (f.op == op && f.from <= version && version <= f.to) return &f;
  return nullptr;
}

std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// The attribute in the kind that the schema declares.
pb::AttributeProto attribute_as(const std::string& name, const ir::Attribute& value,
                                pb::AttributeProto::AttributeType kind) {
  if (const auto* i = std::get_if<std::int64_t>(&value); i && kind == pb::AttributeProto::FLOAT)
    return onnx::attribute_proto(name, static_cast<double>(*i));
  return onnx::attribute_proto(name, value);
}

bool equal(const pb::AttributeProto& a, const pb::AttributeProto& b) {
  return a.SerializeAsString() == b.SerializeAsString();
}

/// Whether the attribute is a type that is not set. Such an attribute is left out.
bool is_unset(const ir::Attribute& value) {
  const auto* type = std::get_if<ir::Type>(&value);
  return type != nullptr && type->kind() == ir::Type::Kind::none;
}

/// Drops attributes that this version lacks or that have its default value. Returns "", or a reason
/// if the version lacks an attribute whose value matters.
std::string fit_attributes(const ir::Node& n, EncodedNode& s) {
  const pb::OpSchema* now = onnx::find_schema(s.op, onnx::newest_version(s.domain), s.domain);
  ir::Attributes kept;
  for (const auto& [name, value] : s.attributes) {
    if (is_unset(value)) continue;
    const ir::Attribute* ours = n.op->attributes.find(name);
    const bool usual = ours != nullptr && ir::to_text(*ours) == ir::to_text(value);
    const auto known = s.schema->attributes().find(name);
    if (known == s.schema->attributes().end()) {
      const auto later = now->attributes().find(name);
      const bool assumed = later != now->attributes().end() &&
                           later->second.default_value.has_name() &&
                           equal(attribute_as(name, value, later->second.type),
                                 later->second.default_value);
      if (!usual && !assumed)
        return fmt::format("attribute '{}' = {} is not in version {}", name, ir::to_text(value),
                           s.schema->since_version());
      continue;
    }
    const auto& a = known->second;
    const bool has_default = a.default_value.has_name();
    if (has_default ? equal(attribute_as(name, value, a.type), a.default_value)
                    : usual && !a.required)
      continue;
    kept.set(name, value);
  }
  s.attributes = std::move(kept);
  for (const auto& [name, a] : s.schema->attributes())
    invariant(!a.required || a.type == pb::AttributeProto::GRAPH || s.attributes.has(name),
              "{} would be written without '{}'", s.op, name);
  return {};
}

bool takes(const pb::OpSchema::FormalParameter& formal, const std::string& type) {
  return std::ranges::any_of(formal.GetTypes(),
                             [&](const std::string* known) { return *known == type; });
}

/// Checks the types of a node's values against its schema.
class Signature {
 public:
  Signature(const Graph& g, EncodedNode& s, const std::optional<DtypeSubstitution>& e)
      : g_(g), s_(s), e_(e) {}

  /// Why the schema does not allow these inputs and outputs; "" if it does.
  std::string fault(std::span<const ValueId> outputs) {
    std::string why = arity_fault(outputs.size());
    for (std::size_t k = 0; why.empty() && k < s_.inputs.size(); ++k) {
      const auto& f = formal(s_.schema->inputs(), k);
      if (s_.inputs[k] != ValueId::none) why = type_fault(s_.inputs[k], f);
      else if (f.GetOption() == pb::OpSchema::Single)
        why = fmt::format("'{}' is needed", f.GetName());
    }
    for (std::size_t j = 0; why.empty() && j < outputs.size(); ++j)
      if (outputs[j] != ValueId::none)
        why = type_fault(outputs[j], formal(s_.schema->outputs(), j));
    return why;
  }

 private:
  using Formal = pb::OpSchema::FormalParameter;

  static const Formal& formal(const std::vector<Formal>& list, std::size_t k) {
    return list[std::min(k, list.size() - 1)];
  }

  std::string arity_fault(std::size_t outputs) const {
    const auto given = static_cast<int>(s_.inputs.size()), named = static_cast<int>(outputs);
    const pb::OpSchema& schema = *s_.schema;
    if (given < schema.min_input() || given > schema.max_input())
      return fmt::format("{} takes {} to {} inputs in version {}, not {}", s_.op,
                         schema.min_input(), schema.max_input(), schema.since_version(), given);
    if (named > schema.max_output())
      return fmt::format("{} has {} outputs in version {}, not {}", s_.op, schema.max_output(),
                         schema.since_version(), named);
    return {};
  }

  std::string type_fault(ValueId v, const Formal& f) {
    const ir::Type& own = g_.value(v).type;
    const bool substituted = e_ && own.is_tensor() && own.dtype() == e_->from;
    const std::string text = onnx::schema_text(substituted ? ir::Type::scalar(e_->to) : own);
    if (!takes(f, text)) {
      if (own.is_tensor()) s_.unsupported_dtype = substituted ? e_->to : own.dtype();
      return fmt::format("{} does not take {} as '{}' in version {}", s_.op, text, f.GetName(),
                         s_.schema->since_version());
    }
    if (!f.GetIsHomogeneous()) return {};
    const auto [first, fresh] = seen_.try_emplace(f.GetTypeStr(), text);
    if (fresh || first->second == text) return {};
    return fmt::format(
        "{} wants one type for '{}' and what stands before it in version {}, not {} and {}", s_.op,
        f.GetName(), s_.schema->since_version(), text, first->second);
  }

  const Graph& g_;
  EncodedNode& s_;
  const std::optional<DtypeSubstitution>& e_;
  std::unordered_map<std::string, std::string> seen_;  ///< types bound to type variables
};

/// Finds the schema. If this opset has none, sets `why_not` and returns false.
bool find(EncodedNode& s, int opset) {
  const int newest = onnx::newest_version(s.domain);
  const int version = s.domain.empty() ? opset : newest;
  s.schema = onnx::find_schema(s.op, version, s.domain);
  if (s.schema != nullptr && !s.schema->Deprecated()) return true;
  int first = version;
  while (first < newest && onnx::find_schema(s.op, first, s.domain) == nullptr) ++first;
  s.why_not = fmt::format("{} begins in opset {}", s.op, first);
  return false;
}

}  // namespace

std::optional<OnnxName> onnx_name(std::string_view our_op) {
  static const auto* const table = [] {
    auto* t = new std::unordered_map<std::string, OnnxName>();
    for (const pb::OpSchema& s : pb::OpSchemaRegistry::get_all_schemas()) {
      if (s.Deprecated()) continue;
      OnnxName& name = (*t)[folded(s.Name())];
      if (name.op.empty() || s.domain().empty()) name = {s.domain(), s.Name()};
    }
    return t;
  }();
  const auto it = table->find(folded(our_op));
  if (it == table->end()) return std::nullopt;
  return it->second;
}

EncodedNode encode_node(const Graph& g, const ir::Node& n, int opset,
                        const std::optional<DtypeSubstitution>& substitution) {
  EncodedNode s;
  if (const ir::UserOp* user = ir::user_op(*n.op)) {
    s.op = user->name;
    s.domain = user->domain;
    s.inputs = n.inputs;
    for (const auto& [key, value] : n.attributes)
      if (ir::is_of_file(key)) s.attributes.set(key, value);
    return s;
  }
  const auto name = onnx_name(n.op->name);
  if (!name) {
    s.op = n.op->name;
    s.why_not = fmt::format("ONNX has no op for {}", n.op->name);
    return s;
  }
  s.op = name->op;
  s.domain = name->domain;
  s.inputs = n.inputs;
  s.attributes = n.attributes;
  if (!find(s, opset)) return s;
  if (const VersionEncoding* encoding = s.domain.empty()
                                            ? find_version_encoding(s.op, s.schema->since_version())
                                            : nullptr)
    s.why_not = encoding->write(g, n, s);
  while (!s.inputs.empty() && s.inputs.back() == ValueId::none) s.inputs.pop_back();
  if (s.why_not.empty()) s.why_not = fit_attributes(n, s);
  if (s.why_not.empty()) s.why_not = Signature(g, s, substitution).fault(n.outputs);
  return s;
}

EncodedNode encode_loop(const Graph& g, const ir::Node& n, bool scan, int opset) {
  const ir::LoopParts p(n);
  EncodedNode s;
  s.op = scan ? "Scan" : "Loop";
  s.inputs = n.inputs;
  if (!scan) {
    if (!p.has_trips) s.inputs.insert(s.inputs.begin(), ValueId::none);
    // Some readers make no trip if the condition is left out. The body's is the constant true here.
    if (!p.has_go) s.inputs.insert(s.inputs.begin() + 1, g.region(p.body).results[0]);
  }
  const auto list = [&](const char* name, const ir::Ints& values) {
    if (std::ranges::count(values, 0) != std::ssize(values)) s.attributes.set(name, values);
  };
  if (scan) {
    s.attributes.set("num_scan_inputs", static_cast<std::int64_t>(p.scans));
    list("scan_input_axes", p.axis_in);
    list("scan_input_directions", p.reverse_in);
    list("scan_output_axes", p.axis_out);
    list("scan_output_directions", p.reverse_out);
  }
  if (!find(s, opset)) return s;
  s.why_not = Signature(g, s, std::nullopt).fault(std::span(n.outputs).first(n.outputs.size() - 1));
  return s;
}

namespace {

/// Whether the opset has the op, and its first input takes the type.
bool takes_first(const char* op, const ir::Type& t, int opset) {
  EncodedNode s;
  s.op = op;
  return find(s, opset) && takes(s.schema->inputs()[0], onnx::schema_text(t));
}

}  // namespace

bool can_copy(const ir::Type& t, int opset) { return takes_first("Identity", t, opset); }

bool can_be_optional_element(const ir::Type& t, int opset) {
  return takes_first("Optional", t, opset) &&
         takes_first("OptionalGetElement", ir::Type::optional(t), opset);
}

bool can_be_sequence_element(DType t, int opset) {
  return takes_first("SequenceConstruct", ir::Type::scalar(t), opset);
}

bool can_cast(const DtypeSubstitution& e, int opset) {
  EncodedNode s;
  s.op = "Cast";
  if (!find(s, opset)) return false;
  return std::ranges::all_of(std::array{e.from, e.to}, [&](DType t) {
    const std::string text = onnx::schema_text(ir::Type::scalar(t));
    return takes(s.schema->inputs()[0], text) && takes(s.schema->outputs()[0], text);
  });
}

bool has_version_encoding(std::string_view op, int version) {
  return find_version_encoding(op, version) != nullptr;
}

}  // namespace rondel::exporters
