// ONNX ops as MDF functions.
#include "frontends/mdf/onnx_function.h"

#include "base/error.h"
#include "base/text.h"
#include "frontends/mdf/arithmetic.h"
#include "frontends/onnx/call_op.h"

#include <algorithm>
#include <cmath>

namespace rondel::mdf {
namespace {

/// The opset that modeci_mdf uses.
constexpr int usual_opset = 15;

using onnx::AttributeForm;

/// Converts constant numbers and texts to the form of an attribute.
class Attribute {
 public:
  Attribute(ir::Builder& b, std::string name, AttributeForm form)
      : b_(b), name_(std::move(name)), form_(form) {}

  ir::Attribute of(const Spec& word) const {
    const auto* text = std::get_if<std::string>(&word);
    require(text != nullptr, "attribute '{}' is given numbers; expected a text", name_);
    return *text;
  }

  ir::Attribute of(ValueId v) const {
    if (form_ == AttributeForm::texts || form_ == AttributeForm::other)
      unsupported("attribute '{}' cannot be given in a model of MDF", name_);
    const Tensor* t = b_.graph().constant(v);
    require(t != nullptr, "attribute '{}' depends on values of the model; expected numbers", name_);
    const Tensor packed = t->packed();
    const bool list = form_ == AttributeForm::integers || form_ == AttributeForm::reals;
    require(list || packed.size() == 1, "attribute '{}' is given {} numbers; expected one", name_,
            packed.size());
    if (form_ == AttributeForm::real) return real(packed, 0);
    if (form_ == AttributeForm::integer) return integer(packed, 0);
    std::vector<double> reals;
    ir::Ints integers;
    for (std::int64_t i = 0; i < packed.size(); ++i)
      if (form_ == AttributeForm::reals) reals.push_back(real(packed, i));
      else integers.push_back(integer(packed, i));
    if (form_ == AttributeForm::reals) return reals;
    return integers;
  }

 private:
  double real(const Tensor& t, std::int64_t i) const {
    return t.dtype() == DType::f64 ? t.data_as<double>()[i] : static_cast<double>(integer(t, i));
  }

  std::int64_t integer(const Tensor& t, std::int64_t i) const {
    if (t.dtype() == DType::i64) return t.data_as<std::int64_t>()[i];
    if (t.dtype() == DType::boolean) return t.data_as<bool>()[i] ? 1 : 0;
    require(t.dtype() == DType::f64, "attribute '{}' is given {}; expected numbers", name_,
            rondel::name(t.dtype()));
    const double x = t.data_as<double>()[i];
    require(x == std::trunc(x) && std::fabs(x) < 0x1p63,
            "attribute '{}' is given {}; expected an integer of 64 bits", name_, x);
    return static_cast<std::int64_t>(x);
  }

  ir::Builder& b_;
  std::string name_;
  AttributeForm form_;
};

/// Converts a value to an op's input as modeci_mdf does for the ONNX runtime: a scalar constant
/// gets shape [1], and f64 becomes f32 if `single_precision`.
ValueId input(ir::Builder& b, ValueId v, const FunctionOptions& o) {
  if (const Tensor* t = b.graph().constant(v); t != nullptr && t->rank() == 0)
    v = b.constant(t->reshaped({1}));
  if (!o.single_precision || dtype_of(b, v) != DType::f64) return v;
  if (const Tensor* t = b.graph().constant(v)) {
    const Tensor wide = t->packed(), narrow(DType::f32, t->shape());
    for (std::int64_t i = 0; i < wide.size(); ++i)
      narrow.data_as<float>()[i] = static_cast<float>(wide.data_as<double>()[i]);
    return b.constant(narrow);
  }
  return cast(b, v, DType::f32);
}

class OnnxCall {
 public:
  OnnxCall(ir::Builder& b, onnx::OpForm op, const Environment& names, const FunctionOptions& o)
      : b_(b), op_(std::move(op)), names_(names), options_(o) {}

  std::vector<ValueId> run(std::span<const Argument> arguments,
                           std::span<const std::string> ports) {
    for (const Argument& a : arguments) {
      try {
        take(a);
      } catch (const Error& e) { throw e.within("argument '" + a.name + "'"); }
    }
    fill_from_names();
    if (op_.variadic && op_.inputs.size() == 1 && inputs_.empty())
      for (const std::string& port : ports) inputs_.push_back(names_.at(port));
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (inputs_[k] != ValueId::none) inputs_[k] = converted(inputs_[k], k);
    std::vector<ValueId> results = onnx::call_op(b_, op_, inputs_, attributes_, graphs_);
    for (ValueId& v : results)
      if (v != ValueId::none && options_.single_precision && dtype_of(b_, v) == DType::f32)
        v = cast(b_, v, DType::f64);
    return results;
  }

 private:
  /// Sets the input or attribute of an argument. Later arguments can read its value by name.
  void take(const Argument& a) {
    const auto attribute = op_.attributes.find(a.name);
    if (attribute != op_.attributes.end()) return take_attribute(a, attribute->second);
    const auto* text = std::get_if<std::string>(&a.value);
    const auto list = is_variadic(a.name) && text != nullptr ? compile_list(b_, *text, names_)
                                                             : std::nullopt;
    if (list) return add_variadic(*list);
    const ValueId v = compile(b_, a.value, names_);
    names_.set(a.name, v);
    if (is_variadic(a.name)) return add_variadic({v});
    const auto at = std::ranges::find(op_.inputs, a.name);
    if (at == op_.inputs.end())
      fail("{} has no input or attribute of this name; {}", op_.name, known());
    set_input(static_cast<std::size_t>(at - op_.inputs.begin()), v);
  }

  void take_attribute(const Argument& a, AttributeForm form) {
    if (form == AttributeForm::text) {
      attributes_.set(a.name, Attribute(b_, a.name, form).of(a.value));
    } else if (form == AttributeForm::graph) {
      take_graph(a);
    } else {
      const ValueId v = compile(b_, a.value, names_);
      names_.set(a.name, v);
      attributes_.set(a.name, Attribute(b_, a.name, form).of(v));
    }
  }

  /// Sets a graph attribute; its free names are captured from the node.
  void take_graph(const Argument& a) {
    const auto* graph = std::get_if<OnnxGraph>(&a.value);
    require(graph != nullptr,
            "it is no graph; expected {{onnx: TEXT}} with a graph in ONNX's text "
            "form");
    onnx::GraphArgument& taken = graphs_[a.name];
    taken.graph = {graph->bytes};
    for (const std::string& name : graph->reads) {
      require(names_.has(name), "the graph reads '{}', which neither it nor the node has", name);
      taken.captures[name] = input(b_, names_.at(name), options_);
    }
  }

  /// Whether the argument is the op's variadic input: it has the name of the last input, or any
  /// name if the op has no other input.
  bool is_variadic(const std::string& name) const {
    return op_.variadic && (op_.inputs.size() == 1 || name == op_.inputs.back());
  }

  void add_variadic(const std::vector<ValueId>& values) {
    inputs_.resize(std::max(inputs_.size(), op_.inputs.size() - 1), ValueId::none);
    inputs_.insert(inputs_.end(), values.begin(), values.end());
  }

  /// Converts a value to input k. The inputs `M` (trip count) and `cond` of control flow ops accept
  /// any numbers.
  ValueId converted(ValueId v, std::size_t k) {
    const bool controls = std::ranges::any_of(
        op_.attributes, [](const auto& a) { return a.second == AttributeForm::graph; });
    const std::string name = controls && k < op_.inputs.size() ? op_.inputs[k] : "";
    if (name == "cond") v = controlling(v, DType::boolean);
    if (name == "M") v = controlling(v, DType::i64);
    return input(b_, v, options_);
  }

  /// Casts `M` or `cond`. Constants are folded, so that a loop with a constant trip count has
  /// outputs of static shape.
  ValueId controlling(ValueId v, DType dtype) {
    const Tensor* t = b_.graph().constant(v);
    if (t == nullptr || t->size() != 1 || dtype_of(b_, v) == dtype)
      return dtype == DType::boolean ? as_bool(b_, v) : cast(b_, v, dtype);
    const double x = t->dtype() == DType::f64 ? t->data_as<double>()[0]
                     : t->dtype() == DType::boolean
                         ? static_cast<double>(t->data_as<bool>()[0])
                         : static_cast<double>(t->data_as<std::int64_t>()[0]);
    if (dtype == DType::boolean) return b_.scalar(x != 0);
    require(x == std::trunc(x) && std::fabs(x) < 0x1p62, "M is {}; expected a whole number", x);
    return b_.scalar(static_cast<std::int64_t>(x));
  }

  void set_input(std::size_t k, ValueId v) {
    if (inputs_.size() <= k) inputs_.resize(k + 1, ValueId::none);
    inputs_[k] = v;
  }

  /// Fills missing inputs and attributes from names of the node.
  void fill_from_names() {
    const std::size_t fixed = op_.inputs.size() - (op_.variadic ? 1 : 0);
    for (std::size_t k = 0; k < fixed; ++k) {
      const bool given = k < inputs_.size() && inputs_[k] != ValueId::none;
      if (!given && names_.readable(op_.inputs[k])) set_input(k, names_.at(op_.inputs[k]));
    }
    for (const auto& [name, form] : op_.attributes) {
      const bool numbers = form != AttributeForm::text && form != AttributeForm::graph;
      if (!numbers || attributes_.has(name) || !names_.readable(name)) continue;
      try {
        attributes_.set(name, Attribute(b_, name, form).of(names_.at(name)));
      } catch (const Error& e) { throw e.within(fmt::format("the node's '{}'", name)); }
    }
  }

  std::string known() const {
    std::vector<std::string> all = op_.inputs;
    for (const auto& [name, form] : op_.attributes) all.push_back(name);
    return "it has " + join(all, ", ", [](const std::string& n) { return "'" + n + "'"; });
  }

  ir::Builder& b_;
  onnx::OpForm op_;
  Environment names_;
  const FunctionOptions& options_;
  std::vector<ValueId> inputs_;
  ir::Attributes attributes_;
  onnx::GraphArguments graphs_;
};

}  // namespace

std::vector<ValueId> call_onnx(ir::Builder& b, const std::string& op,
                               std::span<const Argument> arguments, const Environment& names,
                               std::span<const std::string> ports, const FunctionOptions& o) {
  auto form = onnx::op_form(op, usual_opset);
  if (!form) fail("ONNX has no op '{}'", op);
  return OnnxCall(b, std::move(*form), names, o).run(arguments, ports);
}

}  // namespace rondel::mdf
